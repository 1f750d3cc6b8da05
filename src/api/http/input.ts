import { OptionalKind, type TObject, type TSchema } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { DomainError, type FieldProblem, invalidFields } from "../../domain/errors.ts";
import { codePoints } from "../../domain/text.ts";
import { timesInUtc } from "../../domain/validation/fields.ts";
import { parseJson } from "../../domain/validation/json.ts";
import { problems } from "../../domain/validation/problems.ts";
import type { RequestContext } from "./context.ts";
import { type DescribedRoute, describeRoute, type Json } from "./openapi.ts";
import type { ListOptions, TextOptions } from "./parameters.ts";

/*
 * All that Elysia is told to do in another way than by itself: hooks that it cannot analyse, bodies that it neither
 * parses nor validates, and a gate for each route that checks access, and then reads and checks the input by the
 * schemas of the route. Elysia validates only the parameters, once more.
 *
 * Elysia 1.4.30 parses a body before the hooks of a route and validates before `beforeHandle`, but 401, 429 and 403
 * come before 400. A gate at the transform stage comes before both, for a route with `parse: "none"`. Schemas alone do
 * not suffice: a TypeBox codec (a string with a pattern, decoded to a number) refuses `1e2`, `0x10` and `+5`, but
 * Elysia keeps the last of a repeated parameter, turns invalid percent-encoding into other characters, stops at the
 * first part of a request with a problem, and accepts JSON of any depth. `aot: false` refuses repeated parameters, but
 * parses bodies in spite of `parse: "none"`, and interprets each request. Neither mode has an option against the
 * analysis of hooks: for a hook that passes on its context, every request has its cookies, headers and query parsed.
 */

/** The schemas of a route that the reader uses. */
export interface InputSchemas {
  params?: TObject;
  query?: TObject;
  headers?: TObject;
  body?: TSchema;
}

/** The part of Elysia's context that the reader fills and that access checks use. */
export interface OpenContext {
  readonly requestContext: RequestContext;
  readonly request: Request;
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  headers: Record<string, string | undefined>;
  body: unknown;
}

/** The context of an access check with a token. */
export interface GateContext extends OpenContext {
  readonly bearer: string | undefined;
}

type Routes = AnyElysia["routes"];

/** Who passes each gate, in the words of the tables of routes. */
const gates = new WeakMap<object, string>();

/** Makes the gate of a route. @param who who passes it, in the words of the tables of routes */
export function asGate<Context>(who: string, check: (context: Context) => Promise<void>) {
  const gate = opaque(check);
  gates.set(gate, who);
  return gate;
}

/** Returns who may call a route. Throws if it has no gate and would be open to everyone by mistake. */
export function whoMay({ method, path, hooks }: Routes[number]): string {
  const found = [hooks.transform ?? []].flat().map((hook) => gates.get("fn" in hook ? hook.fn : hook));
  const who = found.find((name) => name !== undefined);
  if (who === undefined) throw new Error(`${method} ${path} has no gate`);
  return who;
}

/**
 * Hides the source of a hook without a result from Elysia's analysis. Elysia would also await every hook that calls a
 * function, at the cost of a promise for each request. It still awaits async functions, which it detects by their type.
 */
export function opaque<Context, Result extends Promise<void> | void>(
  hook: (context: Context) => Result,
): (context: Context) => Result {
  return hook.bind(null);
}

/** Returns the typed context of a handler that serves both listeners, whose types Elysia cannot unify. */
export function handlerContext(context: unknown) {
  return context as {
    requestContext: RequestContext;
    request: Request;
    /** Absent if the path has no parameters. */
    params?: Readonly<Record<string, string>>;
  };
}

/** The gate of a route that needs neither token nor key. Preflight requests are not rate limited. */
export const openGate = asGate("anyone", async (context: unknown) => {
  const { requestContext, request } = handlerContext(context);
  if (request.method !== "OPTIONS") await requestContext.listener.admit?.(requestContext);
});

/**
 * Leaves the body of a route unread until its gate reads it, even for a route without a body. Throws for a schema
 * without `additionalProperties`, because Elysia would add it.
 */
export function deferBody(route: { body?: TSchema; parse?: unknown }): void {
  if (route.body?.["type"] === "object" && !("additionalProperties" in route.body)) {
    throw new Error(`The body ${route.body.$id ?? "of a route"} must say additionalProperties`);
  }
  route.parse ??= "none";
}

/** Fills the context. Throws one error with all problems of the parameters, or else of the body. */
type InputReader = (context: OpenContext) => Promise<void> | void;

/** Returns the reader of a route; null if the route has no input. */
function inputReader(
  { params, query, headers, body }: InputSchemas,
  maxBodyBytes = publicBodyBytes,
): InputReader | null {
  if (!params && !query && !headers && !body) return null;
  return (context) => {
    const problems: FieldProblem[] = [];
    if (params) context.params = readPath(context.params, params, problems);
    if (query) context.query = readQuery(context, query, problems);
    if (headers) Object.assign(context.headers, readHeaders(context.request.headers, headers, problems));
    if (problems.length > 0) throw refused(problems);
    return body && readBody(context, body, maxBodyBytes);
  };
}

/** Returns the `operationId` of a route; null for a route without documentation. */
export function operationOf({ detail }: DescribedRoute): string | null {
  const id = detail?.["operationId"];
  return typeof id === "string" ? id : null;
}

/**
 * Returns the input reader of one route, for the macro that checks its access.
 * @param access returns the documentation of that access
 */
export function routeInput(access: (route: DescribedRoute) => Json, maxBodyBytes?: number) {
  let reader: InputReader | null = null;
  let operation: string | null = null;
  return {
    introspect(route: InputSchemas & { parse?: unknown } & DescribedRoute): void {
      operation = operationOf(route);
      reader = inputReader(route, maxBodyBytes);
      deferBody(route);
      describeRoute(route, access(route));
    },
    /** Sets the operation of a request. */
    begin(requestContext: RequestContext): void {
      requestContext.operation = operation;
    },
    read: (context: OpenContext): Promise<void> | void => reader?.(context),
  };
}

const undecodable = { value: undefined, message: "is not valid percent-encoding" } as const;

/** Reads the path parameters, which the router has decoded; null marks invalid percent-encoding. */
function readPath(parameters: Record<string, unknown>, schema: TObject, problems: FieldProblem[]) {
  const result: Record<string, unknown> = {};
  for (const field in schema.properties) {
    const text = parameters[field];
    const { value, message } =
      typeof text === "string" ? readValue(schema.properties[field] as TSchema, [text]) : undecodable;
    if (message) problems.push({ in: "path", field, message });
    else result[field] = value;
  }
  return result;
}

/** Reads the headers that the schema names. All are optional. */
function readHeaders(headers: Headers, schema: TObject, problems: FieldProblem[]) {
  const result: Record<string, string> = {};
  for (const field in schema.properties) {
    const text = headers.get(field);
    if (text === null) continue;
    const message = textProblem(schema.properties[field] as TextOptions, text);
    if (message) problems.push({ in: "header", field, message });
    else result[field] = text;
  }
  return result;
}

/** Reads the query of a request. Unknown parameters are ignored. */
function readQuery(
  { request: { url }, requestContext }: OpenContext,
  schema: TObject,
  problems: FieldProblem[],
) {
  const at = url.indexOf("?");
  const isWrong = (field: string) =>
    problems.some((problem) => problem.in === "query" && problem.field === field);
  const fault = (field: string, message: string) => {
    if (!isWrong(field)) problems.push({ in: "query", field, message });
  };
  const values = at === -1 ? null : split(url.slice(at + 1), schema, fault);
  const result: Record<string, unknown> = {};
  for (const field in schema.properties) {
    if (isWrong(field)) continue;
    const property = schema.properties[field] as TSchema;
    const texts = values?.get(field);
    if (!texts || isAbsent(property, texts)) {
      if (!(OptionalKind in property)) fault(field, "is required");
      else if ("default" in property) result[field] = property["default"];
      continue;
    }
    const { value, message } = readValue(property, texts);
    if (message) fault(field, message);
    else result[field] = value;
  }
  if (problems.some(({ field }) => field !== "limit")) return result;
  for (const field in result) {
    const { refineWithin } = schema.properties[field] as TextOptions;
    const message = refineWithin?.(result[field] as string, result, requestContext.caller?.grant ?? null);
    if (message) fault(field, message);
  }
  return result;
}

function isAbsent(schema: TSchema, [text = ""]: readonly string[]): boolean {
  return schema["allowEmptyValue"] === true && (schema["trim"] ? text.trim() : text) === "";
}

/** Parameters whose problems are `invalid_cursor`. */
export const cursorNames: ReadonlySet<unknown> = new Set(["cursor", "Last-Event-ID", "lastEventId"]);

function refused(problems: FieldProblem[]): DomainError {
  const error = invalidFields(problems);
  if (problems.some(({ field }) => !cursorNames.has(field))) return error;
  return new DomainError("invalid_cursor", error.message, error.details);
}

/** Returns the values of each parameter of the schema. A list has at most one item more than its schema allows. */
function split(
  query: string,
  schema: TObject,
  fault: (field: string, message: string) => void,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (name === null || !Object.hasOwn(schema.properties, name)) continue;
    const text = decode(equals === -1 ? "" : pair.slice(equals + 1));
    const earlier = found.get(name);
    const { type, maxItems } = schema.properties[name] as TSchema;
    if (text === null) fault(name, undecodable.message);
    else if (type === "array") {
      const items = earlier ?? [];
      found.set(name, items);
      addItems(items, text, maxItems + 1);
    } else if (earlier) fault(name, "must be given only once");
    else found.set(name, [text]);
  }
  return found;
}

/** Appends the items of a text with commas that are not empty, until there are `most`. */
function addItems(items: string[], text: string, most: number): void {
  for (let start = 0; start < text.length && items.length < most; ) {
    const comma = text.indexOf(",", start);
    const end = comma === -1 ? text.length : comma;
    if (end > start) items.push(text.slice(start, end));
    start = end + 1;
  }
}

/** Decodes a name or value of a query; null for invalid percent-encoding. */
function decode(raw: string): string | null {
  if (!/[%+]/.test(raw)) return raw;
  try {
    return decodeURIComponent(raw.replaceAll("+", " "));
  } catch {
    return null;
  }
}

const decimal = /^-?(0|[1-9][0-9]{0,15})$/;

type Read = { value: unknown; message?: undefined } | { value?: undefined; message: string };

function readValue(schema: TSchema, texts: readonly string[]): Read {
  const text = texts[0] ?? "";
  if (schema["type"] === "integer") return readInteger(schema, text);
  if (schema["type"] === "array") return readList(schema as unknown as ListOptions, texts);
  return readText(schema, text);
}

function readInteger({ minimum, maximum }: TSchema, text: string): Read {
  const value = decimal.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return { value };
  return { message: `must be an integer from ${minimum} to ${maximum}` };
}

function readList({ minItems, maxItems, items }: ListOptions, texts: readonly string[]): Read {
  if (texts.length < minItems || texts.length > maxItems) {
    return { message: `must have ${minItems} to ${maxItems} values, repeated or separated by commas` };
  }
  const read = texts.map((text) => readValue(items, [text]));
  return read.find(({ message }) => message) ?? { value: read.map(({ value }) => value) };
}

function readText(schema: TextOptions, text: string): Read {
  const value = schema.trim ? text.trim() : text;
  const message = textProblem(schema, value);
  return message === null ? { value } : { message };
}

/** Returns the problem of a text, or null. U+0000 is refused, because PostgreSQL cannot store it. */
function textProblem(schema: TextOptions, text: string): string | null {
  const { minLength, maxLength, pattern, refine } = schema;
  if (text.includes("\0")) return "must not contain a NUL character";
  if (minLength !== undefined && codePoints(text) < minLength)
    return `must be at least ${minLength} character${minLength === 1 ? "" : "s"}`;
  if (maxLength !== undefined && codePoints(text) > maxLength)
    return `must be at most ${maxLength} characters`;
  const fits =
    (pattern === undefined || new RegExp(pattern).test(text)) && (schema.enum?.includes(text) ?? true);
  if (!fits) return schema.errorMessage ?? "does not have the right form";
  return refine?.(text) ?? null;
}

/*
 * Request bodies.
 */

/** The size limit of bodies in the public API. */
export const publicBodyBytes = 64 * 1024;

/**
 * Reads a JSON body of at most `maxBytes` that matches the schema, with its times in UTC. An optional body may be
 * missing, with or without a Content-Type, and is then an empty object.
 */
async function readBody(context: OpenContext, schema: TSchema, maxBytes: number): Promise<void> {
  const { request } = context;
  const isOptional = OptionalKind in schema;
  if (!isOptional) requireMediaType(request, jsonType);
  const bytes = await readBytes(request, maxBytes);
  const isMissing = isOptional && bytes.byteLength === 0;
  if (isOptional && !isMissing) requireMediaType(request, jsonType);
  const value = isMissing ? {} : parseJson(bytes);
  const wrong = problems(schema, value, { in: "body" });
  if (wrong.length > 0) throw invalidFields(wrong);
  context.body = timesInUtc(schema, value);
}

const jsonType = "application/json";

/** The media type of a request in lower case, without parameters; "" when absent. */
export function mediaType(request: Request): string {
  const header = request.headers.get("content-type") ?? "";
  return (header.split(";")[0] ?? "").trim().toLowerCase();
}

export function requireMediaType(request: Request, ...accepted: readonly string[]): void {
  if (accepted.includes(mediaType(request))) return;
  throw new DomainError(
    "unsupported_media_type",
    `The body must be sent with Content-Type: ${accepted.join(" or ")}`,
  );
}

/** Refuses compressed bodies with a clear error; otherwise their JSON, or each of their lines, would be invalid. */
function requireUncompressed({ headers }: Request): void {
  if (/^(identity)?$/i.test(headers.get("content-encoding") ?? "")) return;
  throw new DomainError("unsupported_media_type", "The body must be sent without Content-Encoding");
}

/** Reads the whole body. Throws as soon as it exceeds `maxBytes`. @param limit the message of that error */
export async function readBytes(
  message: Request | Response,
  maxBytes: number,
  limit = `The body must be at most ${maxBytes} bytes`,
): Promise<Uint8Array> {
  if (message instanceof Request) requireUncompressed(message);
  const tooLarge = () => new DomainError("body_too_large", limit);
  const length = message.headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) throw tooLarge();
  // Bun reads at most Content-Length bytes, and `bytes()` is cheaper than a stream.
  if (length !== null && message instanceof Request) return message.bytes().catch(throwClientClosed);
  // A list of chunks would take a hundred times as much memory if each has one byte.
  const read = new Bun.ArrayBufferSink();
  read.start({ asUint8Array: true });
  let size = 0;
  for await (const chunk of bodyStream(message)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    read.write(chunk);
  }
  return read.end() as Uint8Array;
}

/** Returns the body as a stream, which is empty if there is none. */
async function* bodyStream(message: Request | Response): AsyncGenerator<Uint8Array> {
  if (!message.body) return;
  try {
    yield* message.body;
  } catch (error) {
    if (message instanceof Request) throwClientClosed(error);
    throw error;
  }
}

/**
 * Returns the body of a request that takes effect while it is received. The client controls how long that takes, so the
 * key is checked again for each chunk.
 *
 * @param isAtomic whether nothing takes effect unless the body is complete
 */
export async function* longBodyStream(
  { request, longBody }: Pick<RequestContext, "request" | "longBody">,
  isAtomic: boolean,
): AsyncGenerator<Uint8Array> {
  requireUncompressed(request);
  let isOpen = false;
  try {
    for await (const chunk of bodyStream(request)) {
      await longBody?.requireAllowed();
      isOpen = true;
      yield chunk;
    }
    isOpen = false;
  } finally {
    if (isOpen && !isAtomic) await longBody?.noteBrokenOff();
  }
}

/** Reading a request body fails only if the client closed the connection. */
function throwClientClosed(cause: unknown): never {
  throw new ClientClosedRequest("The client closed the connection before its request was complete", {
    cause,
  });
}

/** The client closed the connection before its request was complete. */
export class ClientClosedRequest extends Error {
  override name = "ClientClosedRequest";
}
