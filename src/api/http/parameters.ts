import {
  Kind,
  type SchemaOptions,
  type TProperties,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { invalidField } from "../../domain/errors.ts";
import { maxId, ulidPattern } from "../../domain/ids.ts";
import { hasRealDate, noRealDate, timeMs } from "../../domain/time.ts";
import type { Grant } from "../../domain/tokens.ts";
import { Timestamp } from "../../domain/validation/fields.ts";

export const Message = Type.String({ description: "Human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const Ulid = Type.String({ pattern: ulidPattern });
export const WebUrl = Type.String({ format: "uri", description: "URL." });

/** An option of an object schema: unknown fields are refused. */
export const noOtherFields = { additionalProperties: false };
/** An option of an object schema: unknown fields are ignored. */
export const otherFieldsIgnored = { additionalProperties: true };

/** Returns fields of an object schema, all of them optional. */
export function optionalFields<Fields extends TProperties>(fields: Fields) {
  return Type.Partial(Type.Object(fields)).properties;
}

/** An object schema that is a component of the OpenAPI documents. It has no other fields than these. */
export function named<Fields extends TProperties>($id: string, description: string, fields: Fields) {
  return Type.Object(fields, { $id, description, ...noOtherFields });
}

/**
 * Returns the fields of a row that a schema names, in its order, so that responses never have other columns of the row.
 */
export function picked<Fields extends TProperties, Row extends object>(fields: Fields, row: Row) {
  const names = Object.keys(fields) as (keyof Fields & keyof Row)[];
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, keyof Fields & keyof Row>;
}

/*
 * Schemas of path, query and header parameters. They are TypeBox kinds of their own, which `input.ts` reads: for its
 * own integers and arrays in a query, Elysia has parsers that accept `1e2` and `[1]`, and TypeBox counts the length of
 * strings in UTF-16 units. In the OpenAPI document they are ordinary strings, integers and arrays.
 */

/** The options of a string parameter. */
export interface TextOptions extends SchemaOptions {
  /** In Unicode code points. */
  readonly minLength?: number;
  /** In Unicode code points. */
  readonly maxLength?: number;
  readonly pattern?: string;
  /** The message when the pattern does not match. */
  readonly errorMessage?: string;
  readonly enum?: readonly string[];
  /** Whether white space at both ends is ignored. */
  readonly trim?: boolean;
  /** Whether an empty value counts as absent; else it is an error. */
  readonly allowEmptyValue?: boolean;
  /** A further check of the value: returns the problem, or null. */
  readonly refine?: (text: string) => string | null;
  /** A check with the whole query and the caller's grant. Called only if no parameter other than `limit` is invalid. */
  readonly refineWithin?: (
    text: string,
    query: Readonly<Record<string, unknown>>,
    grant: Grant | null,
  ) => string | null;
}

/** How parts of names are compared (`fold`), for descriptions. */
export const comparedPlainly =
  "Case and diacritics are ignored: all marks of Unicode, and strokes through letters. Ligatures and full-width forms count as their plain letters.";

interface IntegerOptions extends SchemaOptions {
  readonly minimum: number;
  readonly maximum: number;
}

export interface ListOptions<Item = string | number> extends SchemaOptions {
  readonly items: TUnsafe<Item>;
  readonly minItems: number;
  readonly maxItems: number;
}

/** A string parameter. */
export function TextParameter(options: TextOptions): TUnsafe<string> {
  return Type.Unsafe<string>({ ...options, [Kind]: "TextParameter", type: "string" });
}

/** A parameter with a fixed set of values. */
export function ChoiceParameter<Word extends string>(
  words: readonly Word[],
  options: TextOptions = {},
): TUnsafe<Word> {
  const errorMessage = `must be one of ${words.join(", ")}`;
  return Type.Unsafe<Word>({
    errorMessage,
    ...options,
    enum: words,
    [Kind]: "TextParameter",
    type: "string",
  });
}

/** An ISO 8601 timestamp, in UTC or with an offset, that exists in the calendar. */
export function TimeParameter(options: SchemaOptions): TUnsafe<string> {
  const { pattern = "" } = Timestamp;
  const errorMessage = `${Timestamp["errorMessage"]}, with Z or an offset (+ in a URL is %2B)`;
  const refine = (text: string) => (hasRealDate(text) ? null : noRealDate);
  return TextParameter({ ...options, pattern, errorMessage, refine });
}

/** Returns the value of a `TimeParameter` in milliseconds since the epoch; null if it is absent. */
export function timeParameterMs(text: string | undefined): number | null {
  return text === undefined ? null : timeMs(text);
}

/** Returns the time range of a list. Throws `invalid_parameter` for an empty range. */
export function timeRange(query: { readonly after?: string; readonly before?: string }) {
  const [after, before] = [timeParameterMs(query.after), timeParameterMs(query.before)];
  if (after !== null && before !== null && after >= before)
    throw invalidField("query", "before", "must be later than after");
  return { after, before };
}

/** A decimal integer, without sign, exponent or leading zeros. */
export function IntegerParameter(options: IntegerOptions): TUnsafe<number> {
  return Type.Unsafe<number>({ ...options, [Kind]: "IntegerParameter", type: "integer" });
}

/** The maximum number of items of a list. @param what the name of its items */
export function LimitParameter(
  what: string,
  { defaultResults, maxResults }: { readonly defaultResults: number; readonly maxResults: number },
) {
  const range = { minimum: 1, maximum: maxResults, default: defaultResults };
  return Type.Optional(IntegerParameter({ ...range, description: `Maximum number of ${what} to return.` }));
}

/** The id of a user, channel or category. @param of which of them */
export function IdParameter(of: string, example: number): TUnsafe<number> {
  return IntegerParameter({
    minimum: 1,
    maximum: maxId,
    description: `Id of the ${of}.`,
    examples: [example],
  });
}

/** A list of strings or integers: the parameter is repeated or has values separated by commas. */
export function ListParameter<Item>(options: ListOptions<Item>): TUnsafe<Item[]> {
  return Type.Unsafe<Item[]>({ ...options, [Kind]: "ListParameter", type: "array" });
}

// Elysia validates after `input.ts` has checked the form: only the type can be wrong, on a route that is not read by
// it.
TypeRegistry.Set("TextParameter", (_, value) => typeof value === "string");
TypeRegistry.Set("IntegerParameter", (_, value) => typeof value === "number");
TypeRegistry.Set("ListParameter", (_, value) => Array.isArray(value));
