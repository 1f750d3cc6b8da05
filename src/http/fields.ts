import { type TProperties, Type } from "@sinclair/typebox";
import { ulidPattern } from "../domain/ids.ts";

export const Message = Type.String({ description: "Human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const Ulid = Type.String({ pattern: ulidPattern });
export const WebUrl = Type.String({ format: "uri", description: "URL." });

/** An option of an object schema: unknown fields are refused. */
export const noOtherFields = { additionalProperties: false };
/** An option of an object schema: unknown fields are ignored. */
export const otherFieldsIgnored = { additionalProperties: true };

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
