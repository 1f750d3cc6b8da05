import { Type } from "@sinclair/typebox";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020";
import { DomainError, type FieldProblem, invalidFields, messageOf, nameInField } from "../errors.ts";
import { second } from "../time.ts";
import { maxProblems } from "../validation/problems.ts";
import { Catalogue } from "./catalogue.ts";
import type { EventType } from "./event-type.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A stored event type that an operator registered. */
export interface RegisteredEventType {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the payload. */
  readonly schema: JsonObject;
  readonly example: JsonObject;
  readonly time_to_live_seconds: number | null;
  /** Whether an event of the type was ever published. */
  readonly is_published: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The fields of a type that an operator sends. */
type NewEventType = Omit<RegisteredEventType, "is_published" | "created_at" | "updated_at">;

const eventTypeLimits = {
  registered: 1_000,
  schemaBytes: 16 * 1024,
  /** Objects and lists inside one another. */
  schemaDepth: 32,
  /** Names in all objects (keywords, properties, definitions), and schemas in lists. Bounds compiling. */
  schemaParts: 500,
  /** The sizes of all patterns together. Bounds compiling, too. */
  patternSizes: 5_000,
} as const;

/** Names contain a dot, which distinguishes them from the event stream's own events. */
export const eventNamePattern = "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$";

/**
 * The type in the catalogue's form. Throws `invalid_parameter` for an invalid schema, or an example that does not match
 * it.
 */
export async function eventTypeOf(given: NewEventType): Promise<EventType> {
  const validate = await compiled(given.schema);
  const wrong = schemaErrors(validate, given.example, "example", given.name);
  if (wrong.length > 0) throw invalidFields(wrong);
  return typeOf(given, validate);
}

function typeOf(given: NewEventType, validate: SchemaCheck): EventType {
  const { name, version, description, schema, example, time_to_live_seconds } = given;
  const timeToLiveMs = time_to_live_seconds === null ? null : time_to_live_seconds * second;
  const check = (data: unknown) => schemaErrors(validate, data, "data", name);
  return { name, version, description, payload: Type.Unsafe(schema), example, timeToLiveMs, check };
}

/** The catalogue with these registered types. */
export async function catalogueOf(registered: readonly RegisteredEventType[]): Promise<Catalogue> {
  const catalogue = new Catalogue();
  await updateCatalogue(catalogue, registered);
  return catalogue;
}

/** Makes a catalogue contain exactly these registered types. */
export async function updateCatalogue(
  catalogue: Catalogue,
  registered: readonly RegisteredEventType[],
): Promise<void> {
  const kept = new Set<string>();
  for (const type of registered) {
    kept.add(`${type.name} ${type.version}`);
    const known = catalogue.find(type.name, type.version);
    // Compiling takes milliseconds, so unchanged types are skipped. Examples were checked when they were stored.
    const isKnown = known && isSame(known, type);
    if (!isKnown) catalogue.put(typeOf(type, await compiled(type.schema)));
  }
  for (const { name, version } of catalogue.registered) {
    if (!kept.has(`${name} ${version}`)) catalogue.remove(name, version);
  }
}

function isSame({ description, timeToLiveMs, example, payload }: EventType, type: NewEventType): boolean {
  const timeToLive = timeToLiveMs === null ? null : timeToLiveMs / second;
  const known = [description, timeToLive, example, payload];
  const { schema } = type;
  return (
    JSON.stringify(known) ===
    JSON.stringify([type.description, type.time_to_live_seconds, type.example, schema])
  );
}

/**
 * Throws `conflict` when a type cannot be stored: its schema differs from that of `known`, the stored type of the same
 * version, or it is new and there are too many types.
 */
export function checkChange(known: RegisteredEventType | null, type: NewEventType, count: number): void {
  const { name, version, schema } = type;
  const { registered: most } = eventTypeLimits;
  if (!known && count >= most) {
    throw new DomainError("conflict", `There are ${most} event types, which is the limit`);
  }
  if (!known || Bun.deepEquals(known.schema, schema)) return;
  throw new DomainError(
    "conflict",
    `The schema of ${name} version ${version} cannot change, because receivers rely on it; register version ${version + 1}, or delete this one if none of its events was published`,
  );
}

/** Throws `conflict` when an event of the type was published. */
export function checkRemoval({ name, version, is_published }: RegisteredEventType): void {
  if (!is_published) return;
  const message = `Events of ${name} version ${version} were published, so it cannot be deleted`;
  throw new DomainError("conflict", message);
}

/** Returns the errors of a payload. Throws a `RangeError` when the check would take too long. */
type SchemaCheck = (data: unknown) => readonly ErrorObject[];

/** Returns the limit that a schema exceeds, as the rest of a sentence that begins with "schema"; else null. */
function exceededLimit(schema: JsonObject): string | null {
  const { schemaBytes, schemaDepth, schemaParts } = eventTypeLimits;
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaBytes)
    return `must be at most ${schemaBytes} bytes as JSON`;
  const { parts, depth } = extentOf(schema);
  if (depth > schemaDepth) return `must be at most ${schemaDepth} levels deep, and has ${depth}`;
  if (parts <= schemaParts) return null;
  return `must have at most ${schemaParts} keywords, names of properties and schemas in lists together, and has ${parts}`;
}

/** Counts the names of all objects in a value and the items of its lists that can be schemas, and its levels. */
function extentOf(value: unknown): { readonly parts: number; readonly depth: number } {
  if (typeof value !== "object" || value === null) return { parts: 0, depth: 0 };
  const inner = Object.values(value);
  let parts = Array.isArray(value) ? inner.filter(canBeSchema).length : inner.length;
  let depth = 0;
  for (const extent of inner.map(extentOf)) {
    parts += extent.parts;
    depth = Math.max(depth, extent.depth);
  }
  return { parts, depth: depth + 1 };
}

const canBeSchema = (item: unknown) =>
  typeof item === "boolean" || (typeof item === "object" && item !== null);

/** Checks schemas against the draft. Shared, because compiling the schema of the draft itself takes long. */
let draft: Ajv2020 | null = null;

async function compiled(schema: JsonObject): Promise<SchemaCheck> {
  const refuse = (message: string) => invalidFields([{ in: "body", field: "schema", message }]);
  if (schema["type"] !== "object") throw refuse('must describe an object: "type": "object"');
  const tooLarge = exceededLimit(schema);
  if (tooLarge !== null) throw refuse(tooLarge);
  // The promise of an asynchronous check would count as success.
  if ("$async" in schema) throw refuse("must not have $async");
  // Loaded on demand, because it takes longer than the rest of a start.
  const { Ajv2020 } = await import("ajv/dist/2020");
  const { boundedPattern, PatternError } = await import("./patterns.ts");
  const { boundedUniqueItems } = await import("./unique-items.ts");
  const { boundPattern, boundWork, WorkBudget } = await import("./bounded-work.ts");
  const budget = new WorkBudget();
  const common = {
    strictTypes: false,
    strictRequired: false,
    validateFormats: false,
    logger: false,
  } as const;
  const checkBy = (allErrors: boolean): SchemaCheck => {
    let sizes = 0;
    const regExp = (source: string, flags: string) => {
      const pattern = boundedPattern(source, flags);
      sizes += pattern.size;
      const { patternSizes } = eventTypeLimits;
      if (sizes > patternSizes)
        throw new PatternError(
          `has too many large patterns: together they may have at most ${patternSizes} characters with repetitions written out`,
        );
      return boundPattern(source, pattern, budget);
    };
    regExp.code = "regExp";
    // One instance for each schema, so that their ids do not collide. `format` is an annotation, as in the draft.
    const ajv = new Ajv2020({
      ...common,
      allErrors,
      validateSchema: false,
      // Inlined, a large definition would be repeated at each reference.
      inlineRefs: false,
      // Optimizing the generated code takes longer than it saves.
      code: { regExp, optimize: false },
    });
    ajv.removeKeyword("uniqueItems").addKeyword(boundedUniqueItems(budget));
    boundWork(ajv, budget);
    const validate = ajv.compile(schema);
    return (data) => (validate(data) ? [] : (validate.errors ?? []));
  };
  try {
    draft ??= new Ajv2020(common);
    draft.validateSchema(schema, true);
    const check = thorough(checkBy(false), () => checkBy(true));
    return (data) => {
      budget.fill();
      return check(data);
    };
  } catch (error) {
    if (error instanceof PatternError) throw refuse(error.message);
    const reason = messageOf(error);
    throw refuse(`is not a JSON Schema of draft 2020-12: ${reason.slice(0, 300).toWellFormed()}`);
  }
}

/**
 * A check that stops at the first error, and collects all errors only if there is one. Collecting from the start would
 * follow each alternative of `anyOf` to its end, even one that does not match: with nested alternatives, the work
 * multiplies with each level. Only the first error is returned when the budget is too small for collecting, or ajv
 * fails to collect: with alternatives beside `unevaluatedProperties` it loses errors, or its generated code throws.
 */
function thorough(first: SchemaCheck, collecting: () => SchemaCheck): SchemaCheck {
  let all: SchemaCheck | null = null;
  return (data) => {
    const found = first(data);
    if (found.length === 0) return found;
    try {
      all ??= collecting();
      const collected = all(data);
      return collected.length > 0 ? collected : found;
    } catch {
      return found;
    }
  };
}

function schemaErrors(check: SchemaCheck, data: unknown, prefix: string, of: string): FieldProblem[] {
  let errors: readonly ErrorObject[];
  try {
    errors = check(data);
  } catch (error) {
    // The budget is used up, or the stack overflowed: the depth of payloads is limited, that of references is not.
    if (!(error instanceof RangeError)) throw error;
    const message = `cannot be checked, because applying the schema of ${of} to it takes too many steps`;
    return [{ in: "body", field: prefix, message }];
  }
  const messages = new Map<string, string>();
  for (const error of errors) {
    const { field, message } = problemOf(error, prefix, of);
    if (!messages.has(field)) messages.set(field, message);
    if (messages.size === maxProblems) break;
  }
  return Array.from(messages, ([field, message]) => ({ in: "body", field, message }));
}

function problemOf(
  { instancePath, keyword, params, message }: ErrorObject,
  prefix: string,
  of: string,
): { field: string; message: string } {
  const field = `${prefix}${instancePath.split("/").slice(1).map(segment).join("")}`;
  if (keyword === "required") {
    return { field: `${field}${segment(params["missingProperty"])}`, message: "is required" };
  }
  if (keyword === "additionalProperties") {
    const name = segment(params["additionalProperty"]);
    return { field: `${field}${name}`, message: `is not a field of ${of}` };
  }
  return { field, message: message ?? "is not valid" };
}

function segment(part: unknown): string {
  const name = String(part).replaceAll("~1", "/").replaceAll("~0", "~");
  return /^[0-9]+$/.test(name) ? `[${name}]` : `.${nameInField(name)}`;
}

/** Event types that operators have registered. */
export interface EventTypeStore {
  /**
   * Stores a type, or changes the description, example and time to live of a known one. Rejects with `conflict` when
   * the schema of a known version would change, or when there are too many types.
   */
  put(type: NewEventType, now: number): Promise<RegisteredEventType>;
  all(): Promise<RegisteredEventType[]>;
  /**
   * Removes a type and its subscriptions; false when there is none. Rejects with `conflict` when an event was
   * published.
   */
  remove(name: string, version: number): Promise<boolean>;
}
