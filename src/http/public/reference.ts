import { OptionalKind, type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { Scope } from "../../domain/tokens.ts";
import {
  budgetHeaders,
  commonHeaders,
  errorResponses,
  header,
  type PublicErrorCode,
} from "./reference-errors.ts";
import { component, described, documentSchema, type Json } from "./reference-schemas.ts";

/*
 * What the OpenAPI document says of a route. Answers are not checked against it at run time, which would cost up to
 * 0.38 of the throughput: the tests do that.
 */

export const Message = Type.String({ description: "A human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const WebUrl = Type.String({ format: "uri", description: "A web address." });

/** How an answer leads to another operation: its parameters, by expressions of OpenAPI. */
export interface Link {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** One answer of an operation, as the reference shows it. */
export interface Answer {
  readonly description: string;
  readonly schema?: TSchema;
  readonly example?: unknown;
  /** In place of JSON it is a stream of server-sent events like this. */
  readonly eventStream?: string;
  /** Where the parameters of other operations are in it. */
  readonly links?: Readonly<Record<string, Link>>;
  /** It carries the headers of the subscription budget. */
  readonly budget?: boolean;
  /** Headers beyond those of all answers. */
  readonly headers?: Json;
}

export function answer(description: string, rest: Omit<Answer, "description"> = {}): Answer {
  return { description, ...rest };
}

/** Everything the reference says of a route; the errors that every route of its kind has come by themselves. */
export interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Scope | "anyone";
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: {
    readonly schema: TSchema;
    readonly example: unknown;
    /** `application/json` unless said otherwise. */
    readonly mediaType?: string;
    /** It may be left out. */
    readonly optional?: boolean;
  };
  readonly answers: Readonly<Record<number, Answer>>;
  /** It has an ETag and answers 304. */
  readonly notModified?: boolean;
  readonly errors?: readonly PublicErrorCode[];
}

/** What a route declares, as far as the document shows it. */
export interface DeclaredRoute {
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
  readonly response?: Readonly<Record<number, TSchema>>;
  readonly errors?: readonly PublicErrorCode[];
  detail?: Readonly<Record<string, unknown>>;
}

/** Has the document show a route as it declares itself. One without an `operationId` is not shown. */
export function documentRoute(route: DeclaredRoute, access: Operation["access"]): void {
  const { detail, params, query, headers, body, response = {}, errors } = route;
  if (detail?.["operationId"] === undefined) return;
  const { operationId, tags, summary, description } = detail as Record<string, string>;
  const of: Operation = {
    id: operationId ?? "",
    tag: tags?.[0] ?? "",
    summary: summary ?? "",
    description: description ?? "",
    access,
    ...(params && { params }),
    ...(query && { query }),
    ...(headers && { headers }),
    ...(body && { body: bodyOf(body) }),
    ...(errors && { errors }),
    answers: Object.fromEntries(
      Object.entries(response)
        .filter(([status]) => status !== "304")
        .map(([status, schema]) => [status, answerOf(schema)]),
    ),
    notModified: 304 in response,
  };
  route.detail = described(() => operationDetail(of)) as Record<string, unknown>;
}

function bodyOf({ examples, ...rest }: TSchema): NonNullable<Operation["body"]> {
  const schema = rest as TSchema;
  const example = (examples as unknown[] | undefined)?.[0];
  return { schema, example, optional: OptionalKind in schema };
}

function answerOf(schema: TSchema): Answer {
  const {
    description = "",
    examples,
    budget,
    headers,
    links,
    schemaDescription = description,
    ...rest
  } = schema;
  const example = (examples as unknown[] | undefined)?.[0];
  if (schema["type"] === "void") return { description };
  if (schema["contentMediaType"] !== undefined) return { description, eventStream: String(example) };
  return {
    description,
    schema: (schema.$id ? { ...rest, description: schemaDescription } : rest) as TSchema,
    example,
    ...(budget === true && { budget }),
    ...(headers && { headers }),
    ...(links && { links }),
  };
}

/** The name of the security scheme for access tokens. */
export const tokenScheme = "accessToken";

/** The OpenAPI operation of a route, with components where they are used: see `hoist`. */
export function operationDetail(of: Operation): Json & { responses: Record<number, Json> } {
  const parameters = [
    ...parametersOf("path", of.params),
    ...parametersOf("query", of.query),
    ...parametersOf("header", of.headers),
    ...(of.notModified ? [ifNoneMatch] : []),
  ];
  return {
    operationId: of.id,
    summary: of.summary,
    description: of.description,
    tags: [of.tag],
    security: of.access === "anyone" ? [] : [{ [tokenScheme]: [of.access] }],
    ...(parameters.length > 0 && { parameters }),
    ...(of.body && {
      requestBody: {
        required: !of.body.optional,
        content: {
          [of.body.mediaType ?? "application/json"]: {
            schema: documentSchema(of.body.schema),
            example: of.body.example,
          },
        },
      },
    }),
    responses: { ...answersOf(of), ...errorResponses(errorsOf(of)) },
  };
}

/** The parameters that a schema of them describes. */
export function parametersOf(place: "path" | "query" | "header", schema: TObject | undefined): Json[] {
  const required = new Set<string>(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, examples, allowEmptyValue, ...rest } = documentSchema(property);
    const example = Array.isArray(examples) ? examples[0] : rest["default"];
    return {
      name,
      in: place,
      required: required.has(name),
      ...(description !== undefined && { description }),
      ...(rest["type"] === "array" && { style: "form", explode: true }),
      ...(allowEmptyValue === true && { allowEmptyValue }),
      schema: rest,
      ...(example !== undefined && { example }),
    };
  });
}

const ifNoneMatch = component("parameters/If-None-Match", {
  name: "If-None-Match",
  in: "header",
  required: false,
  description:
    "The `ETag` of an answer that you have: you get 304 without a body as long as nothing changed.",
  schema: { type: "string" },
});

const cacheHeaders: Json = {
  ETag: header(
    "ETag",
    "Names this state of the answer; send it back as `If-None-Match`.",
    "string",
    '"2ke8x0q1v7fmz"',
  ),
  "Cache-Control": header(
    "Cache-Control",
    "For how many seconds the answer may be kept.",
    "string",
    "public, max-age=1",
  ),
};

function answersOf(of: Operation): Record<number, Json> {
  const always = { ...commonHeaders, ...(of.notModified && cacheHeaders) };
  const answers = Object.entries(of.answers).map(([status, given]) => {
    const { description, schema, example, eventStream, budget, headers, links } = given;
    const content = schema
      ? { "application/json": { schema: documentSchema(schema), example } }
      : eventStream && { "text/event-stream": { schema: { type: "string" }, example: eventStream } };
    return [
      status,
      {
        description,
        headers: { ...always, ...(budget && budgetHeaders), ...headers },
        ...(content && { content }),
        ...(links && { links }),
      },
    ];
  });
  const notModified = component("responses/NotModified", {
    description: "Nothing changed since the answer whose `ETag` you sent.",
    headers: always,
  });
  return { ...Object.fromEntries(answers), ...(of.notModified && { 304: notModified }) };
}

function errorsOf(of: Operation): PublicErrorCode[] {
  const codes: PublicErrorCode[] = [];
  if (of.params || of.query || of.headers || of.body) codes.push("invalid_parameter");
  if (of.body) codes.push("invalid_json", "body_too_large", "unsupported_media_type");
  if (of.access !== "anyone") codes.push("missing_token", "invalid_token", "insufficient_scope");
  return [...codes, ...(of.errors ?? []), "rate_limited", "internal_error", "unavailable"];
}
