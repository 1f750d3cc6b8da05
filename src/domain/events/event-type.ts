import type { Static, TSchema } from "@sinclair/typebox";
import type { FieldProblem } from "../errors.ts";

/** The range of versions. */
export const versionRange = { minimum: 1, maximum: 1_000_000 } as const;

/** Bounds of the schema of a registered type, so that compiling a schema delays no other request. */
export const schemaLimits = {
  /** As JSON. */
  bytes: 16 * 1024,
  /** Objects and lists inside one another. */
  depth: 32,
  /** Names in all objects (keywords, properties, definitions), and items of all lists. */
  parts: 400,
  /** Different patterns, in `pattern` and `patternProperties`. */
  patterns: 50,
  /** The size of a pattern: about the number of its characters once all repetitions are written out. */
  patternSize: 500,
  /** The sizes of all different patterns together. */
  patternSizes: 5_000,
} as const;

/** A type of event that the platform publishes and applications subscribe to. */
export interface EventType<Payload extends TSchema = TSchema> {
  readonly name: string;
  /** Part of the type's identity: an incompatible payload gets a new version. */
  readonly version: number;
  readonly description: string;
  /** The schema of `data`; closed, so that consumers meet no unknown field. */
  readonly payload: Payload;
  /** A realistic payload that matches the schema. */
  readonly example: Static<Payload>;
  /** How long undelivered events are retried; null for the whole retry schedule. */
  readonly timeToLiveMs: number | null;
  /** Checks payloads of a registered type, whose schema is not TypeBox's. */
  readonly check?: (data: unknown) => FieldProblem[];
}

/** A type whose example fits its payload. */
export function eventType<Payload extends TSchema>(type: EventType<Payload>): EventType<Payload> {
  return type;
}
