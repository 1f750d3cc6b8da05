import { OptionalKind, type TObject, type TSchema, Type } from "@sinclair/typebox";
import * as Bun from "bun";
import {
  DeprecatedUse,
  type DeprecatingApi,
  type Deprecation,
  deprecationNotice,
} from "../../domain/deprecations.ts";
import { oneOf, webAddressFormat } from "../../domain/validation/fields.ts";
import { cursorNames } from "../http/input.ts";
import {
  component,
  errorCodes,
  exampleRequestId,
  type Json,
  mark,
  type RouteDetail,
  wide,
} from "../http/openapi.ts";
import { named } from "../http/parameters.ts";

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
  readonly whole?: TSchema;
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
  readonly api: DeprecatingApi;
  readonly title: string;
  readonly summary: string;
  /** Markdown. */
  readonly introduction: string;
  /** The URL of the listener. */
  readonly url: string;
  /** Tags of the operations, in the order in which they are shown. */
  readonly tags: readonly Json[];
  readonly securitySchemes: Json;
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
  const { api, title, summary, introduction, url, tags, securitySchemes, externalDocs, webhooks } = about;
  const info = {
    ...(written["info"] as object),
    title,
    summary,
    description: introduction.trim(),
    // The documentation, because On Air does not know the platform's contact.
    contact: { name: "On Air", url: `${url}/docs` },
    license: { name: "MIT", identifier: "MIT" },
  };
  const components = { securitySchemes, ...(written["components"] as object) };
  const sections = {
    info,
    tags,
    components,
    ...(externalDocs && { externalDocs }),
    servers: [{ url }],
    webhooks,
  };
  const paths = mapped(written.paths, (methods) =>
    mapped(methods, (operation) => markDeprecated(completeOperation(operation, rules), api)),
  );
  return hoist({ ...written, ...sections, openapi: "3.1.0", paths });
}

/** Marks a deprecated operation, and deprecated parameters of an operation. @param table see `Deprecation` */
export function markDeprecated(operation: Json, api: DeprecatingApi, table?: readonly Deprecation[]): Json {
  const deprecated = new DeprecatedUse(table);
  const parameters = operation["parameters"] as readonly Json[] | undefined;
  const marked = (part: Json, parameterNames: readonly string[]): Json => {
    const query = new URLSearchParams(Object.fromEntries(parameterNames.map((name) => [name, ""])));
    const [own] = deprecated
      .ofRequest(api, `${operation["operationId"]}`, `/?${query}`)
      .filter(({ of }) => !("setting" in of) && of.parameter === parameterNames[0]);
    if (!own) return part;
    const description = [part["description"], `${deprecationNotice(own)}.`].filter(Boolean).join("\n\n");
    return { ...part, deprecated: true, description };
  };
  return {
    ...marked(operation, []),
    ...(parameters && {
      parameters: parameters.map((parameter) => marked(parameter, [`${parameter["name"]}`])),
    }),
  };
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
    codes: [
      ...(parameters.some(({ name }) => cursorNames.has(name)) ? ["invalid_cursor"] : []),
      ...(written[errorCodes] ?? []),
    ],
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

function completeParameter({ name, description, examples, schema, ...written }: WrittenParameter): Json {
  const { allowEmptyValue, ...rest } = documentSchema(schema);
  const example = examples ? examples[0] : rest["default"];
  return {
    name,
    in: written.in,
    required: written.required,
    ...(description !== undefined && { description }),
    ...(allowEmptyValue === true && { allowEmptyValue }),
    schema: rest,
    ...(example !== undefined && { example }),
  };
}

const jsonType = "application/json";

interface RequestBody {
  readonly required: boolean;
  readonly content: Json;
}

function requestBodyOf({ requestBody, json, ndjson }: WrittenOperation): RequestBody | null {
  const declared = schemaOf(requestBody?.content);
  if (!declared && !json && !ndjson) return null;
  const { contentMediaType = jsonType, examples, additionalProperties, ...fields } = declared ?? noSchema;
  // OpenAPI Generator refuses this keyword in a form, where it is true anyway.
  const schema = contentMediaType === jsonType ? { additionalProperties, ...fields } : fields;
  return {
    required: !(OptionalKind in schema),
    content: {
      ...(declared && { [contentMediaType]: { schema: documentSchema(schema), example: examples?.[0] } }),
      ...(json && { [jsonType]: { schema: documentSchema(json.schema), example: json.example } }),
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

function contentOf({ description, whole, examples, content }: WrittenResponse): Json | null {
  const example = examples?.[0];
  if (whole) return { "application/json": { schema: documentSchema(whole), example } };
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

/** Returns an object with other values under the same keys. */
export function mapped<Value, Result>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}

/** Moves the marked parts of a document to its `components`. Throws if two different parts have the same name. */
export function hoist(document: Json): Json {
  const components: Record<string, Json> = {};
  const place = (name: string, part: Json): Json => {
    const [kind = "", key = ""] = name.split("/");
    components[kind] ??= {};
    const section = components[kind];
    if (key in section && !Bun.deepEquals(section[key], part)) throw new Error(`Two components are ${name}`);
    section[key] = part;
    return { $ref: `#/components/${name}` };
  };
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const part = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
    const { [mark]: name, ...rest } = part;
    return typeof name === "string" ? place(name, rest) : rest;
  };
  const { components: declared, ...rest } = walk(document) as Json;
  const all: Record<string, Json> = { ...(declared as Record<string, Json>) };
  for (const [kind, parts] of Object.entries(components)) {
    const sorted = Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1));
    all[kind] = { ...all[kind], ...Object.fromEntries(sorted) };
  }
  return { ...rest, components: all };
}

/** Keywords that only this project's readers and checks use. */
const ownKeywords = new Set([
  "$id",
  "forms",
  "trim",
  "errorMessage",
  "refine",
  "refineWithin",
  "noValidate",
  "contentMediaType",
]);
const schemas = new Set(["items", "additionalProperties"]);

/**
 * Returns a TypeBox schema as plain JSON Schema, in words that generators of clients read. A schema with an `$id`
 * becomes a component.
 */
export function documentSchema(schema: TSchema): Json {
  const plain: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined || ownKeywords.has(keyword) || value === webAddressFormat) continue;
    plain[keyword] = keywordValue(keyword, value);
  }
  const documented = readable(plain);
  return schema.$id === undefined ? documented : component(`schemas/${schema.$id}`, documented);
}

function keywordValue(keyword: string, value: unknown): unknown {
  if (keyword === "$ref") return `#/components/schemas/${value}`;
  if (typeof value !== "object" || value === null) return value;
  if (keyword === "anyOf") return (value as TSchema[]).map(optionSchema);
  if (schemas.has(keyword)) return documentSchema(value as TSchema);
  if (keyword !== "properties") return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, documentSchema(schema)]));
}

/** In a union, generators read null as a type. */
function optionSchema(option: TSchema): Json {
  return option["type"] === "null" ? { type: "null" } : documentSchema(option);
}

/** The names of a `Type.Record`: all. */
const anyName = "^(.*)$";

/** Returns a schema in the form that most generators read, with the same meaning. */
function readable({ patternProperties, ...plain }: Json): Json {
  // Generators ignore `patternProperties`.
  const values = (patternProperties as Readonly<Record<string, TSchema>> | undefined)?.[anyName];
  if (values) return { ...plain, additionalProperties: documentSchema(values) };
  if (Array.isArray(plain["anyOf"])) return readableUnion(plain, plain["anyOf"]);
  // OpenAPI Generator has no type for a property that is always null.
  const { type, ...rest } = plain;
  if (type === "null") return { ...rest, const: null };
  if (Number.isInteger(plain["const"])) return { ...plain, type: "integer" };
  return wide(plain);
}

/** Unions of constants read better as `enum`, and those with null as a list of types. */
function readableUnion(schema: Json, options: Json[]): Json {
  const { anyOf: _, ...rest } = schema;
  if (options.every((option) => typeof option["const"] === "string")) {
    return { ...rest, type: "string", enum: options.map((option) => option["const"]) };
  }
  const [one = {}, other = {}] = options;
  const isPlain = typeof one["type"] === "string" && !("const" in one || "enum" in one || mark in one);
  if (options.length !== 2 || other["type"] !== "null" || !isPlain) return schema;
  return { ...one, ...rest, type: [one["type"], "null"] };
}

/*
 * Errors in the OpenAPI documents of both listeners.
 */

export const FieldProblemSchema = named("FieldProblem", "An invalid field of a request.", {
  in: oneOf(["body", "query", "path", "header"], { description: "Part of the request that has the field." }),
  field: Type.String({ description: "Name or path of the field." }),
  message: Type.String({ description: "Description of the problem. The wording may change." }),
});

/** The schema of every error of a listener. */
export function errorSchema(codes: readonly string[], more: Readonly<Record<string, TSchema>> = {}) {
  return named("Error", "An error. All operations return errors in this form.", {
    message: Type.String({ description: "Description of the error for people. The wording may change." }),
    code: oneOf(codes, { description: "Code of the error, for programs." }),
    errors: Type.Array(FieldProblemSchema, {
      description: "All invalid fields of the request; empty for other errors.",
    }),
    request_id: Type.String({ description: "Id of the request; the same as the header `X-Request-Id`." }),
    ...more,
  });
}

/** An example of an error. */
export interface ErrorSample {
  readonly message: string;
  readonly errors?: readonly object[];
  readonly data?: readonly object[];
}

/** Examples of errors that are the same on both listeners. */
export const commonSamples = {
  invalid_json: { message: "The body is not valid JSON" },
  invalid_cursor: {
    message: "cursor belongs to another list or filter",
    errors: [{ in: "query", field: "cursor", message: "belongs to another list or filter" }],
  },
  category_not_found: { message: "There is no category with this id" },
  unsupported_media_type: { message: "The body must be sent with Content-Type: application/json" },
  unavailable: { message: "The service is temporarily unavailable; try again soon" },
  internal_error: { message: "Something went wrong on our side. The request id helps to find out what." },
} as const;

/** The documentation of the errors of a listener, or of OAuth. */
interface ErrorWords<Code extends string> {
  readonly samples: Readonly<Record<Code, ErrorSample>>;
  /** The description of each status. */
  readonly statuses: Readonly<Record<number, string>>;
  /** Headers of every response. */
  readonly headers: Json;
  /** Further headers of some errors. */
  readonly headersOf: Partial<Record<Code, Json>>;
  readonly schema: TSchema;
  statusOf(code: Code): number;
  /** The prefix of the component names. */
  readonly prefix?: string;
  /** Further fields of an error. */
  moreOf?(code: Code, message: string): object;
}

/** Returns a function that makes the responses for error codes, by status. */
export function errorResponder<Code extends string>(words: ErrorWords<Code>) {
  const { samples, statuses, headers, headersOf, schema, statusOf, prefix = "", moreOf } = words;
  const exampleOf = (code: Code) => {
    const { message, errors = [], data } = samples[code];
    const more = moreOf?.(code, message);
    return { ...more, ...(data && { data }), message, code, errors, request_id: exampleRequestId };
  };
  const responseFor = (status: number, codes: readonly Code[]): Json =>
    component(`responses/${prefix}${codes.map(nameOf).join("Or")}`, {
      description: statuses[status],
      headers: Object.assign({}, headers, ...codes.map((code) => headersOf[code])),
      content: {
        "application/json": {
          schema: documentSchema(schema),
          examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    });
  return (codes: readonly Code[]): Record<string, Json> => {
    const byStatus = Map.groupBy(new Set(codes), statusOf);
    return Object.fromEntries([...byStatus].map(([status, group]) => [status, responseFor(status, group)]));
  };
}

/** Returns `NotFound` for `not_found`. */
function nameOf(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
