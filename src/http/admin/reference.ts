import { OptionalKind, type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { ErrorCode } from "../../domain/errors.ts";
import { type Role, roles } from "../../domain/operator-keys.ts";
import { statusOf } from "../errors.ts";
import { type Link, parametersOf } from "../public/reference.ts";
import {
  challenge,
  exampleRequestId,
  FieldProblemSchema,
  header,
  requestIdHeader,
  retryAfter,
} from "../public/reference-errors.ts";
import { component, described, documentSchema, type Json } from "../public/reference-schemas.ts";

/*
 * What the OpenAPI document of the admin listener says of a route: as for the public one, but with the operator key
 * and its role in place of scopes, no rate limit but for wrong keys, and bodies of NDJSON.
 */

export const closed = { additionalProperties: false };
/** Of a body in which unknown fields are ignored. */
export const open = { additionalProperties: true };

export type AdminErrorCode =
  | Exclude<
      ErrorCode,
      "subscription_failed" | "stream_disabled" | "insufficient_scope" | "method_not_allowed"
    >
  | "internal_error";

/** Links to these operations, with what each does, by the id at this place of an answer. */
export function linksTo(operations: Readonly<Record<string, string>>, place = "/id"): Record<string, Link> {
  const links = Object.entries(operations).map(([operationId, description]) => {
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return [name, { operationId, description, parameters: { id: `$response.body#${place}` } }];
  });
  return Object.fromEntries(links);
}

/** A number with commas; `toLocaleString` would load the rules of all languages, which takes a start 1 to 3 ms. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=([0-9]{3})+$)/g, ",");
}

/** The name of the security scheme for the operator key. */
export const operatorScheme = "operatorKey";

/** What a route declares, as far as the document shows it. */
export interface DeclaredAdminRoute {
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
  readonly response?: Readonly<Record<number, TSchema>>;
  readonly errors?: readonly AdminErrorCode[];
  detail?: Readonly<Record<string, unknown>>;
}

/** What `detail` of a route says of it. */
interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** A body of JSON that the handler reads itself, so that it has no schema for Elysia. */
  readonly json?: JsonBody;
  /** A body of lines of JSON, which the handler reads itself. */
  readonly ndjson?: { readonly description: string; readonly example: readonly unknown[] };
}

interface JsonBody {
  readonly schema: TSchema;
  readonly example: unknown;
}

/**
 * Has the document show a route as it declares itself. One without an `operationId` is not shown.
 * @param allowed the roles that may call it; null: it needs no operator key
 */
export function documentAdminRoute(route: DeclaredAdminRoute, allowed: readonly Role[] | null): void {
  const { detail, ...declared } = route;
  if (detail?.["operationId"] === undefined) return;
  const about = detail as unknown as Described;
  route.detail = described(() => operationDetail(declared, about, allowed)) as Record<string, unknown>;
}

function operationDetail(
  { params, query, headers, body, response = {}, errors = [] }: Omit<DeclaredAdminRoute, "detail">,
  { operationId, tags, summary, description, ndjson, ...read }: Described,
  allowed: readonly Role[] | null,
): Json {
  const json = body ? withExample(body) : read.json;
  const parameters = [
    ...parametersOf("path", params),
    ...parametersOf("query", query),
    ...parametersOf("header", headers),
  ];
  const content = {
    ...(json && { "application/json": { schema: documentSchema(json.schema), example: json.example } }),
    ...(ndjson && { "application/x-ndjson": lines(ndjson.description, ndjson.example) }),
  };
  const codes = [
    ...(allowed ? refusals(allowed) : []),
    // Without parameters, too: a Host header that is too short is refused before the router.
    ...(parameters.length > 0 || json || !allowed ? (["invalid_parameter"] as const) : []),
    ...(json ? (["invalid_json", "body_too_large", "unsupported_media_type"] as const) : []),
    ...errors,
    ...(["internal_error", "unavailable"] as const),
  ];
  return {
    operationId,
    summary,
    description: allowed ? `${description}\n\n${rolesSentence(allowed)}` : description,
    tags,
    security: allowed ? [{ [operatorScheme]: [] }] : [],
    ...(allowed && { "x-roles": allowed }),
    ...(parameters.length > 0 && { parameters }),
    ...((json || ndjson) && { requestBody: { required: !(body && OptionalKind in body), content } }),
    responses: { ...answersOf(response), ...errorResponses(codes) },
  };
}

/** The errors of a route that needs a key with one of these roles. */
function refusals(allowed: readonly Role[]): AdminErrorCode[] {
  const all: AdminErrorCode[] = ["missing_token", "invalid_token", "rate_limited", "unknown_host"];
  return allowed.length < roles.length ? [...all, "insufficient_role"] : all;
}

function rolesSentence(allowed: readonly Role[]): string {
  const names = allowed.map((role) => `\`${role}\``);
  const last = names.pop() ?? "";
  return `For keys with the role ${names.length > 0 ? `${names.join(", ")} or ${last}` : last}.`;
}

function withExample({ examples = [], ...schema }: TSchema): JsonBody {
  return { schema: schema as TSchema, example: examples[0] };
}

function lines(description: string, rows: readonly unknown[]): Json {
  const example = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  return { schema: { type: "string", description }, example };
}

const headersOfAll = { "X-Request-Id": requestIdHeader };

function answersOf(response: Readonly<Record<number, TSchema>>): Record<string, Json> {
  const answers = Object.entries(response).map(([status, schema]) => {
    const { description, headers, links } = schema;
    const content = contentOf(schema);
    const own = { description, headers: { ...headersOfAll, ...headers } };
    return [status, { ...own, ...(content && { content }), ...(links && { links }) }];
  });
  return Object.fromEntries(answers);
}

function contentOf(answer: TSchema): Json | null {
  const { headers: _, links: __, contentMediaType, schemaDescription, ...rest } = answer;
  const { schema, example } = withExample(rest as TSchema);
  if (schema["type"] === "void") return null;
  if (contentMediaType === "application/x-ndjson")
    return { [contentMediaType]: lines("One object on each line.", example as readonly unknown[]) };
  if (contentMediaType !== undefined)
    return { [contentMediaType]: { schema: { type: "string", format: "binary" } } };
  const { description, ...unnamed } = schema;
  // Where it has a name, other answers have it, too.
  const shown = schema.$id ? { ...unnamed, description: schemaDescription ?? description } : unnamed;
  return { "application/json": { schema: documentSchema(shown as TSchema), example } };
}

const samples: Readonly<Record<AdminErrorCode, { message: string; errors?: readonly object[] }>> = {
  invalid_parameter: {
    message: "name must be at least 1 character",
    errors: [{ in: "body", field: "name", message: "must be at least 1 character" }],
  },
  invalid_json: { message: "The body is not valid JSON" },
  invalid_cursor: {
    message: "cursor is not one of this list",
    errors: [{ in: "query", field: "cursor", message: "is not one of this list" }],
  },
  missing_token: { message: "This needs the operator key: Authorization: Bearer <key>" },
  invalid_token: { message: "The operator key is wrong, revoked or expired" },
  insufficient_role: { message: "This needs a key with the role operator; this one is a reader" },
  unknown_host: {
    message:
      "This listener is not known by the name in the Host header. Add that name to --admin-hosts (ONAIR_ADMIN_HOSTS), or use an address",
  },
  rate_limited: { message: "Too many wrong operator keys from this address; try again in 3 seconds" },
  user_not_found: { message: "There is no user with this id" },
  category_not_found: { message: "There is no category with this id" },
  not_found: { message: "There is no application with this id" },
  conflict: { message: 'username "one" is taken by user 1' },
  body_too_large: { message: "The body must be at most 262144 bytes" },
  unsupported_media_type: { message: "The body must be sent with Content-Type: application/json" },
  range_not_satisfiable: { message: "There are 241754112 bytes" },
  unavailable: { message: "The service cannot answer just now; try again soon" },
  internal_error: { message: "Something went wrong on our side. The request id helps to find out what." },
};

const statusDescriptions: Readonly<Record<number, string>> = {
  400: "Something in the request is wrong. All wrong fields are listed at once.",
  401: "There is no operator key, or it is wrong, revoked or expired.",
  403: "The key has another role than this operation needs.",
  404: "It does not exist.",
  409: "It contradicts what is there; the message names the conflict.",
  413: "The body is too large.",
  415: "The body has another media type.",
  416: "There is no such part.",
  421: "The listener is not known by the name in the `Host` header; `--admin-hosts` adds names.",
  429: "Too many wrong keys came from this address. `Retry-After` says when the next one is looked at; a right key is always let in.",
  500: "Something went wrong on our side; the request id helps to find out what.",
  503: "The server cannot answer just now, for example because it is shutting down or the disk is full.",
};

const ErrorSchema = Type.Object(
  {
    message: Type.String({ description: "What went wrong, for people to read. Its words may change." }),
    code: Type.Union(
      Object.keys(samples).map((code) => Type.Literal(code)),
      { description: "What went wrong, for programs to act on." },
    ),
    errors: Type.Array(FieldProblemSchema, {
      description: "The fields that are wrong; empty for most errors.",
    }),
    request_id: Type.String({ description: "The same as in the header `X-Request-Id`." }),
  },
  { $id: "Error", description: "Every error of every path has this shape.", ...closed },
);

export const contentRange = {
  "Content-Range": header(
    "Content-Range",
    "Which part it is, of how many bytes; `bytes */4096` where there is no such part.",
    "string",
    "bytes 0-1023/4096",
  ),
};

const errorHeaders: Partial<Record<AdminErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  rate_limited: retryAfter,
  unavailable: retryAfter,
  range_not_satisfiable: contentRange,
};

function errorResponses(codes: readonly AdminErrorCode[]): Record<number, Json> {
  const byStatus = Map.groupBy(new Set(codes), (code) => statusOf[code]);
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, errorResponse(status, group)]));
}

function errorResponse(status: number, codes: readonly AdminErrorCode[]): Json {
  const name = codes.map((code) => code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase()));
  const examples = codes.map((code) => {
    const { message, errors = [] } = samples[code];
    return [code, { value: { message, code, errors, request_id: exampleRequestId } }];
  });
  return component(`responses/${name.join("Or")}`, {
    description: statusDescriptions[status],
    headers: Object.assign({}, headersOfAll, ...codes.map((code) => errorHeaders[code])),
    content: {
      "application/json": {
        schema: documentSchema(ErrorSchema),
        examples: Object.fromEntries(examples),
      },
    },
  });
}
