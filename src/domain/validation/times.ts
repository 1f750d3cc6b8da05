import type { TSchema } from "@sinclair/typebox";
import { utcTime } from "../time.ts";

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
