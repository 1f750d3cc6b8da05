import type { TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { type FieldProblem, nameInField } from "../errors.ts";
import { noRealDate } from "../time.ts";

/** The most problems that are reported for one value. */
export const maxProblems = 20;

/** The source of the checked value, and the names in its problems. */
interface ProblemsAt {
  readonly in: FieldProblem["in"];
  /** The name of the value itself; `data` turns the field `user.id` into `data.user.id`. */
  readonly prefix?: string;
  /** The kind of value, for unknown fields: "is not a field of channel.followed". */
  readonly of?: string;
}

interface Finding {
  readonly pointer: string;
  readonly message: string;
}

/**
 * Describes the problems of a value for people, `[]` when it matches.
 *
 * Reports all wrong fields up to `maxProblems`, one problem per field, in the order of the schema. Messages come from
 * the schema alone and never repeat the value; only names of unknown fields come from it, as `field`, and are
 * shortened. A schema's `errorMessage` is used when its pattern or format does not match. A list that is over its limit
 * and over 10,000 items ends the report. The value is only read. The schema is compiled on first use to keep that out
 * of the start. Supports the keywords that our own schemas use.
 */
export function problems(schema: TSchema, value: unknown, at: ProblemsAt): FieldProblem[] {
  const check = compiled(schema);
  if (check.Check(value)) return [];
  const messages = new Map<string, string>();
  for (const finding of explain(check.Errors(value), at.of)) {
    const field = fieldName(finding.pointer, value, at);
    if (!messages.has(field)) messages.set(field, finding.message);
    if (messages.size === maxProblems) break;
  }
  if (messages.size === 0) messages.set(fieldName("", value, at), "is not valid");
  return Array.from(messages, ([field, message]) => ({ in: at.in, field, message }));
}

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

function compiled(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema);
    checks.set(schema, check);
  }
  return check;
}

function* explain(errors: Iterable<ValueError>, of: string | undefined): Generator<Finding> {
  for (const error of errors) {
    if (error.type === ValueErrorType.Union) yield* explainUnion(error, of);
    else {
      yield { pointer: error.path, message: failure(error, of) };
      if (isHuge(error)) return;
    }
  }
}

/** Whether a list is so far over its limit that checking each item would block the event loop. */
function isHuge({ type, value }: ValueError): boolean {
  return type === ValueErrorType.ArrayMaxItems && Array.isArray(value) && value.length > 10_000;
}

interface Branch {
  readonly schema: TSchema;
  readonly errors: Iterable<ValueError>;
}

/** Reports the problems of the branch that the value was meant to be, or else of the union as a whole. */
function* explainUnion(error: ValueError, of: string | undefined): Generator<Finding> {
  const pointer = error.path;
  const options: TSchema[] = error.schema["anyOf"];
  const branches = options.map((schema, i): Branch => ({ schema, errors: error.errors[i] ?? [] }));
  const meant = branches.filter((branch) => couldBe(branch.schema, error.value));
  if (meant.length === 0) {
    yield { pointer, message: `must be ${describe(error.schema)}` };
    return;
  }
  const orNull = options.some((option) => option["type"] === "null") ? " or null" : "";
  for (const finding of closest(meant, error, of)) {
    yield finding.pointer === pointer ? { pointer, message: finding.message + orNull } : finding;
  }
}

function closest(branches: Branch[], error: ValueError, of: string | undefined): Iterable<Finding> {
  const [first, ...others] = branches;
  if (first === undefined) return [];
  if (others.length === 0) return explain(first.errors, of);
  const tag = isObject(error.value) ? discriminator(branches) : undefined;
  if (tag !== undefined) {
    const tagValue = own(error.value, tag);
    const branch = branches.find(({ schema }) => schema["properties"][tag].const === tagValue);
    if (branch !== undefined) return explain(branch.errors, of);
    const tags: TSchema[] = branches.map(({ schema }) => schema["properties"][tag]);
    const message = tagValue === undefined ? "is required" : `must be ${describe({ anyOf: tags })}`;
    return [{ pointer: `${error.path}/${escapeSegment(tag)}`, message }];
  }
  return branches
    .map((branch) => take(explain(branch.errors, of), maxProblems))
    .reduce((best, next) => (next.length < best.length ? next : best));
}

/** The field whose constant distinguishes the branches of a union of objects. */
function discriminator(branches: Branch[]): string | undefined {
  const fields = Object.keys(branches[0]?.schema["properties"] ?? {});
  return fields.find((field) =>
    branches.every(({ schema }) => own(own(schema["properties"], field), "const") !== undefined),
  );
}

function couldBe(schema: TSchema, value: unknown): boolean {
  if (Array.isArray(schema["anyOf"])) return schema["anyOf"].some((option) => couldBe(option, value));
  if ("const" in schema) return false;
  switch (schema["type"]) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return typeof value === "number";
    default:
      return typeof value === schema["type"];
  }
}

/** `/giftees/0/user_id` → `giftees[0].user_id`; the value distinguishes an index from a key. */
function fieldName(pointer: string, value: unknown, at: ProblemsAt): string {
  let name = at.prefix ?? "";
  let here = value;
  for (const segment of pointer.split("/").slice(1).map(unescapeSegment)) {
    if (Array.isArray(here)) name += `[${segment}]`;
    else name += name === "" ? nameInField(segment) : `.${nameInField(segment)}`;
    here = own(here, segment);
  }
  return name === "" ? at.in : name;
}

const escapeSegment = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");
const unescapeSegment = (segment: string) => segment.replaceAll("~1", "/").replaceAll("~0", "~");

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

function take<T>(items: Iterable<T>, count: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

/** The JSON Schema keywords that messages use. */
interface Keywords {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Keywords[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly errorMessage?: string;
}

/** The message of a TypeBox error, such as "must be at least 3 characters". */
function failure(error: ValueError, of: string | undefined): string {
  const schema: Keywords = error.schema;
  switch (error.type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "is required";
    case ValueErrorType.ObjectAdditionalProperties:
      return of === undefined ? "is not a known field" : `is not a field of ${of}`;
    case ValueErrorType.StringMinLength:
      return `must be at least ${count(schema.minLength, "character")}`;
    case ValueErrorType.StringMaxLength:
      return `must be at most ${count(schema.maxLength, "character")}`;
    case ValueErrorType.StringPattern:
      return schema.errorMessage ?? "does not have the right form";
    case ValueErrorType.StringFormat:
      if (schema.format === "date-time") return noRealDate;
      return schema.errorMessage ?? `must be a valid ${schema.format}`;
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ArrayMaxItems:
      return `must have ${amount(schema.minItems, schema.maxItems, "item")}`;
    case ValueErrorType.ArrayUniqueItems:
      return "must not have the same item twice";
    default:
      return `must be ${describe(schema)}`;
  }
}

/** Describes a schema after "must be": "a string", "an integer from 1 to 100", "one of a, b or null". */
function describe(schema: Keywords): string {
  if (schema.anyOf !== undefined) return describeUnion(schema.anyOf);
  if (schema.enum !== undefined) return oneOf(schema.enum);
  if ("const" in schema) return text(schema.const);
  switch (schema.type) {
    case "string":
    case "boolean":
      return `a ${schema.type}`;
    case "array":
    case "object":
      return `an ${schema.type}`;
    case "integer":
      return `an integer${range(schema)}`;
    case "number":
      return `a number${range(schema)}`;
    case "null":
      return "null";
    default:
      return "valid";
  }
}

function describeUnion(options: readonly Keywords[]): string {
  const flat = options.flatMap((option) => option.anyOf ?? [option]);
  const values = flat.filter((option) => "const" in option).map((option) => option.const);
  const others = flat.filter((option) => !("const" in option));
  const types = others.filter((option) => option.type !== "null").map(describe);
  const nulls = others.length > types.length ? ["null"] : [];
  return [...(values.length > 0 ? [oneOf(values)] : []), ...new Set(types), ...nulls].join(" or ");
}

function oneOf(values: readonly unknown[]): string {
  if (values.length === 2 && values.includes(true) && values.includes(false)) return "a boolean";
  return values.length === 1 ? text(values[0]) : `one of ${values.map(text).join(", ")}`;
}

function text(value: unknown): string {
  return value === "" ? '""' : String(value);
}

function range({ minimum, maximum }: Keywords): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? "" : ` of at most ${maximum}`;
}

function amount(least: number | undefined, most: number | undefined, noun: string): string {
  if (least === undefined) return `at most ${count(most, noun)}`;
  if (most === undefined) return `at least ${count(least, noun)}`;
  return least === most ? `exactly ${count(most, noun)}` : `${least} to ${count(most, noun)}`;
}

function count(n: number | undefined, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
