import {
  FormatRegistry,
  type SchemaOptions,
  type StringOptions,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { maxId } from "../ids.ts";
import { hasRealDate, timestampPattern } from "../time.ts";

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
