import { type TProperties, Type } from "@sinclair/typebox";
import { ulidPattern } from "../domain/ids.ts";

export const Message = Type.String({ description: "A human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const Ulid = Type.String({ pattern: ulidPattern });
export const WebUrl = Type.String({ format: "uri", description: "A web address." });

/** An option of an object schema: other fields than those named are refused. */
export const noOtherFields = { additionalProperties: false };
/** An option of an object schema: unknown fields are ignored. */
export const otherFieldsIgnored = { additionalProperties: true };

/** An object that the documents have under a name. It has no other fields than these. */
export function named<Fields extends TProperties>($id: string, description: string, fields: Fields) {
  return Type.Object(fields, { $id, description, ...noOtherFields });
}

/** Those fields of a row that a schema names, in its order: an answer has no others, whatever else the row holds. */
export function picked<Fields extends TProperties, Row extends object>(fields: Fields, row: Row) {
  const names = Object.keys(fields) as (keyof Fields & keyof Row)[];
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, keyof Fields & keyof Row>;
}
