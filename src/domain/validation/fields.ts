import {
  FormatRegistry,
  type SchemaOptions,
  type StringOptions,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { maxId } from "../ids.ts";
import { hasRealDate, timestampPattern, utcTime } from "../time.ts";

/** Id of a user, channel or category: a positive integer that is exact as a JSON number. */
export const Id = Type.Integer({ minimum: 1, maximum: maxId });

/** A count, from 0 on. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

// Rejects dates that do not exist, which a pattern cannot. Set first: Elysia keeps a format that is already set.
FormatRegistry.Set("date-time", hasRealDate);

/**
 * ISO 8601 in UTC or with an offset, with or without a fraction of a second, of a date that exists in the calendar.
 * `timesInUtc` converts it.
 */
export const Timestamp = Type.String({
  format: "date-time",
  pattern: timestampPattern,
  errorMessage: "must be a timestamp like 2026-01-14T16:08:06Z",
});

/** An identifier of the platform, such as that of a message. */
export const Key = Type.String({ minLength: 1, maxLength: 100 });

/** Adds a description for the API reference to a schema. */
export function about<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A URL, or "" for none. */
export const Url = Type.String({ maxLength: 2048 });

/** A text that users wrote, possibly empty. */
export function text(maxLength: number, options: StringOptions) {
  return Type.String({ ...options, maxLength });
}

/** An object with exactly these fields. */
export function closed<Fields extends TProperties>(fields: Fields, options: SchemaOptions = {}) {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** An enum of strings, typed also when the list is not a literal. */
export function oneOf<Word extends string>(words: readonly Word[], options: SchemaOptions = {}) {
  return Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );
}

/** The schema or null. */
export function nullable<Schema extends TSchema>(schema: Schema, options: SchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** A name or title: one line, without control characters. */
export function oneLine(minLength: number, maxLength: number) {
  return Type.String({
    minLength,
    maxLength,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
    errorMessage: "must be one line without control characters",
  });
}

/** A text of several lines, without NUL. */
export function multiLine(maxLength: number) {
  return Type.String({
    maxLength,
    pattern: "^[^\\u0000]*$",
    errorMessage: "must not contain a NUL character",
  });
}

/** The format of texts that can be parsed as a URL, which no pattern can check. OpenAPI documents omit it. */
export const webAddressFormat = "web-address";
FormatRegistry.Set(webAddressFormat, (text) => text === "" || URL.canParse(text));

/** An absolute http(s) address, or "" for none. */
export function webAddress() {
  return Type.String({
    maxLength: 2048,
    pattern: "^(https?://[^\\s\\u0000-\\u001f]+)?$",
    format: webAddressFormat,
    errorMessage: "must be an http or https URL",
  });
}

/**
 * The number of fields of a value, nested ones included, that its schema does not define. The value must match the
 * schema.
 */
export function unknownFields(schema: TSchema, value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(schema["anyOf"])) {
    const options = schema["anyOf"] as readonly TSchema[];
    const counts = options
      .filter((option) => holds(option, value))
      .map((option) => unknownFields(option, value));
    return counts.length === 0 ? 0 : Math.min(...counts);
  }
  let count = 0;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items) for (const item of value) count += unknownFields(items as TSchema, item);
    return count;
  }
  const properties = schema["properties"] as Readonly<Record<string, TSchema>> | undefined;
  if (!properties) return 0;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known) count += unknownFields(known, fields[name]);
    else count++;
  }
  return count;
}

const holds = (schema: TSchema, value: object) =>
  schema["type"] === (Array.isArray(value) ? "array" : "object") || Array.isArray(schema["anyOf"]);

type Convert = (value: unknown) => unknown;

const converters = new WeakMap<TSchema, Convert | null>();

/**
 * Returns a value that fits the schema with its times (`Timestamp`) in UTC, with `Z`. Changes objects and lists in
 * place, in time proportional to the parts of the value that the schema names. Supports the keywords that our own
 * schemas use.
 */
export function timesInUtc<Value>(schema: TSchema, value: Value): Value {
  const convert = converterOf(schema);
  // The conversion keeps the type: it replaces only texts by texts.
  return convert ? (convert(value) as Value) : value;
}

/** Returns the conversion for a schema; null if the schema has no times. */
function converterOf(schema: TSchema): Convert | null {
  const known = converters.get(schema);
  if (known !== undefined) return known;
  const convert = converterFor(schema);
  converters.set(schema, convert);
  return convert;
}

function converterFor(schema: TSchema): Convert | null {
  if (schema["type"] === "string" && schema["format"] === "date-time") return inUtc;
  const branches: readonly TSchema[] = schema["anyOf"] ?? [];
  const branch = branches.map(converterOf).filter((convert) => convert !== null);
  if (branch.length > 0) return (value) => branch.reduce((converted, convert) => convert(converted), value);
  const item = schema["items"] ? converterOf(schema["items"]) : null;
  const fields = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, TSchema>>)
    .map(([name, field]) => [name, converterOf(field)] as const)
    .filter((field): field is [string, Convert] => field[1] !== null);
  if (item === null && fields.length === 0) return null;
  return (value) => {
    if (item && Array.isArray(value)) for (let i = 0; i < value.length; i++) value[i] = item(value[i]);
    else if (typeof value === "object" && value !== null) convertFields(value, fields);
    return value;
  };
}

function convertFields(value: object, fields: readonly [string, Convert][]): void {
  for (const [name, convert] of fields)
    if (Object.hasOwn(value, name)) Reflect.set(value, name, convert(Reflect.get(value, name)));
}

/** Most times are in UTC already. */
function inUtc(value: unknown): unknown {
  if (typeof value !== "string" || (value.endsWith("Z") && value[10] === "T")) return value;
  return utcTime(value) ?? value;
}
