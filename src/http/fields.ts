import { Type } from "@sinclair/typebox";

/*
 * Fields that the answers of many routes have.
 */

export const Message = Type.String({ description: "A human-readable status.", examples: ["OK"] });
export const IsoTimestamp = Type.String({ format: "date-time", description: "ISO 8601, UTC." });
export const WebUrl = Type.String({ format: "uri", description: "A web address." });

/** Of an object that has no other fields than these. */
export const closed = { additionalProperties: false };
/** Of a body in which unknown fields are ignored. */
export const open = { additionalProperties: true };
