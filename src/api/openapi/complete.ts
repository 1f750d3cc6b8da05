import { OptionalKind, type TObject, type TSchema } from "@sinclair/typebox";
import { component, errorCodes, hoist, type Json, mark, type RouteDetail } from "./components.ts";
import { documentSchema } from "./schemas.ts";

/*
 * Turns the output of the swagger plugin into a valid OpenAPI 3.1 document. The plugin copies TypeBox schemas
 * unchanged, omits unknown keywords of responses, and derives media types from the parsers of Elysia.
 */

/** The document that the plugin writes. */
export interface WrittenDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, WrittenOperation>>>>;
  readonly [section: string]: unknown;
}

/** An operation that the plugin writes, from the `detail` and the schemas of its route. */
interface WrittenOperation extends RouteDetail {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-roles"?: readonly string[];
  readonly [errorCodes]?: readonly string[];
  readonly parameters?: readonly WrittenParameter[];
  readonly requestBody?: { readonly content: Contents };
  readonly responses?: Readonly<Record<string, WrittenResponse>>;
}

interface WrittenParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly schema: TSchema;
}

/** The same schema under each media type that Elysia could parse. */
type Contents = Readonly<Record<string, { readonly schema: TSchema }>>;

/** The keywords of a response schema; see `answers.ts`. */
interface WrittenResponse {
  readonly description: string;
  readonly examples?: readonly unknown[];
  readonly headers?: Json;
  readonly links?: Json;
  /** The complete schema, of which the plugin copies only a part. */
  readonly shown?: TSchema;
  readonly contentMediaType?: string;
  readonly content?: Contents;
}

const noSchema = {} as TSchema;

/** The properties of an operation that determine its errors. */
export interface Operation {
  readonly hasParameters: boolean;
  readonly body: "json" | "form" | "ndjson" | null;
  readonly security: WrittenOperation["security"];
  readonly roles: readonly string[] | undefined;
  /** Error codes in addition to those of all operations of its kind. */
  readonly codes: readonly string[];
}

/** The parts of a document that the plugin does not write. */
interface DocumentAbout {
  readonly title: string;
  readonly summary: string;
  /** Markdown. */
  readonly introduction: string;
  /** The URL of the listener. */
  readonly url: string;
  readonly externalDocs?: Json;
  readonly webhooks: Json;
}

/** The documentation that the operations of a listener share. */
export interface ListenerRules {
  /** Headers of every response. */
  readonly headers: Json;
  errorResponses(operation: Operation): Readonly<Record<string, Json>>;
}

/** Returns the valid document. */
export function complete(written: WrittenDocument, rules: ListenerRules, about: DocumentAbout): Json {
  const { title, summary, introduction, url, externalDocs, webhooks } = about;
  const info = {
    ...(written["info"] as object),
    title,
    summary,
    description: introduction.trim(),
    // The documentation, because On Air does not know the platform's contact.
    contact: { name: "On Air", url: `${url}/docs` },
    license: { name: "MIT", identifier: "MIT" },
  };
  const sections = { info, ...(externalDocs && { externalDocs }), servers: [{ url }], webhooks };
  const paths = mapped(written.paths, (methods) =>
    mapped(methods, (operation) => completeOperation(operation, rules)),
  );
  return hoist({ ...written, ...sections, openapi: "3.1.0", paths });
}

function completeOperation(written: WrittenOperation, rules: ListenerRules): Json {
  const { operationId, description, tags, security, "x-roles": roles, responses = {} } = written;
  const { summary = titleOf(operationId) } = written;
  const parameters = parametersOf(written);
  const requestBody = requestBodyOf(written);
  const errors = rules.errorResponses({
    hasParameters: parameters.length > 0,
    body: bodyKind(requestBody),
    security,
    roles,
    codes: written[errorCodes] ?? [],
  });
  const { 304: notModified } = responses;
  const headers = { ...rules.headers, ...notModified?.headers };
  const answers = mapped(responses, (response) => completeResponse(response, headers));
  if (notModified) parameters.push(ifNoneMatch);
  return {
    operationId,
    summary,
    description,
    tags,
    security,
    ...(roles && { "x-roles": roles }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: united(answers, errors),
  };
}

/** Returns `Get Public Key` for `getPublicKey`. */
function titleOf(operationId: string): string {
  return operationId.replace(/[A-Z]/g, " $&").replace(/^./, (letter) => letter.toUpperCase());
}

const parameterOrder = ["path", "query", "header"];

function parametersOf({ parameters = [], queryRead }: WrittenOperation): Json[] {
  const all = [...parameters, ...(queryRead ? parametersRead(queryRead as TObject) : [])];
  return all
    .sort((a, b) => parameterOrder.indexOf(a.in) - parameterOrder.indexOf(b.in))
    .map(completeParameter);
}

function parametersRead({ properties }: TObject): WrittenParameter[] {
  return Object.entries(properties).map(([name, { description, examples, ...schema }]) => {
    const about = { ...(description && { description }), ...(examples && { examples }) };
    return { name, in: "query", required: !(OptionalKind in schema), ...about, schema: schema as TSchema };
  });
}

function completeParameter({ name, description, examples, schema, ...given }: WrittenParameter): Json {
  const { allowEmptyValue, ...rest } = documentSchema(schema);
  const example = examples ? examples[0] : rest["default"];
  return {
    name,
    in: given.in,
    required: given.required,
    ...(description !== undefined && { description }),
    ...(allowEmptyValue === true && { allowEmptyValue }),
    schema: rest,
    ...(example !== undefined && { example }),
  };
}

interface RequestBody {
  readonly required: boolean;
  readonly content: Json;
}

function requestBodyOf({ requestBody, json, ndjson }: WrittenOperation): RequestBody | null {
  const declared = schemaOf(requestBody?.content);
  if (!declared && !json && !ndjson) return null;
  const { contentMediaType = "application/json", examples, ...schema } = declared ?? noSchema;
  return {
    required: !(OptionalKind in schema),
    content: {
      ...(declared && { [contentMediaType]: { schema: documentSchema(schema), example: examples?.[0] } }),
      ...(json && { "application/json": { schema: documentSchema(json.schema), example: json.example } }),
      ...(ndjson && { "application/x-ndjson": lines(ndjson.description, ndjson.example) }),
    },
  };
}

function bodyKind(body: RequestBody | null): Operation["body"] {
  if (body === null) return null;
  if ("application/json" in body.content) return "json";
  return "application/x-ndjson" in body.content ? "ndjson" : "form";
}

function completeResponse(response: WrittenResponse, always: Json): Json {
  const { description, headers, links } = response;
  const content = contentOf(response);
  return {
    description,
    headers: { ...always, ...headers },
    ...(content && { content }),
    ...(links && { links }),
  };
}

function contentOf({ description, shown, examples, content }: WrittenResponse): Json | null {
  const example = examples?.[0];
  if (shown) return { "application/json": { schema: documentSchema(shown), example } };
  const mediaType = schemaOf(content)?.["contentMediaType"];
  if (mediaType === undefined) return null;
  if (mediaType === "application/x-ndjson") {
    return { [mediaType]: lines("One object on each line.", example as readonly unknown[]) };
  }
  if (example !== undefined) return { [mediaType]: { schema: { type: "string" }, example } };
  const about = mediaType.startsWith("text/") ? { description } : { format: "binary" };
  return { [mediaType]: { schema: { type: "string", ...about } } };
}

function lines(description: string, rows: readonly unknown[]): Json {
  const example = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  return { schema: { type: "string", description }, example };
}

function schemaOf(contents: Contents | undefined): TSchema | undefined {
  return Object.values(contents ?? {})[0]?.schema;
}

const ifNoneMatch = component("parameters/If-None-Match", {
  name: "If-None-Match",
  in: "header",
  required: false,
  description: "`ETag` of an earlier response. The response is 304 without a body while nothing has changed.",
  schema: { type: "string" },
});

/** Returns responses and errors by status. A status with both has the media types of both. */
function united(answers: Readonly<Record<string, Json>>, errors: Readonly<Record<string, Json>>): Json {
  const both = mapped(errors, (error, status) => {
    const content = answers[status]?.["content"];
    // Not a component: no other operation has this combination.
    return content
      ? { ...error, [mark]: null, content: Object.assign({}, error["content"], content) }
      : error;
  });
  return { ...answers, ...both };
}

function mapped<Value, Result>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}
