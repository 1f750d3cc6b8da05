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

/*
 * Events that are made from the example of a type: in the channel of a user, at the present time.
 */

/** The user in whose channel a sample happens. */
export interface SampleBroadcaster {
  readonly id: number;
  readonly username: string;
  readonly is_verified: boolean;
  readonly profile_picture: string | null;
  /** Slug of the user's channel; by default the username in lower case. */
  readonly channel_slug?: string;
}

/**
 * Returns a payload with this user as the broadcaster, in the fields that the broadcaster has. A payload without a
 * broadcaster is not changed.
 */
export function inChannelOf<Payload>(user: SampleBroadcaster, payload: Payload): Payload {
  const { broadcaster } = payload as Payload & { readonly broadcaster?: unknown };
  if (typeof broadcaster !== "object" || broadcaster === null || !("user_id" in broadcaster)) return payload;
  const { id, username, is_verified, profile_picture, channel_slug = username.toLowerCase() } = user;
  const person = { user_id: id, username, is_verified, profile_picture: profile_picture ?? "", channel_slug };
  const known = Object.entries(person).filter(([field]) => field in broadcaster);
  return { ...payload, broadcaster: { ...broadcaster, ...Object.fromEntries(known) } };
}

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const isTime = (value: unknown): value is string => typeof value === "string" && timeForm.test(value);

/**
 * Returns a payload whose earliest time is `now`, in milliseconds since the epoch. The others keep their distance to
 * it, so that a subscription of a month still lasts a month.
 */
export function happeningAt<Payload>(now: number, payload: Payload): Payload {
  const earliest = Math.min(...timesIn(payload));
  if (!Number.isFinite(earliest)) return payload;
  const shifted = (value: unknown): unknown => {
    if (isTime(value)) return new Date(Date.parse(value) - earliest + now).toISOString();
    if (Array.isArray(value)) return value.map(shifted);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shifted(member)]));
  };
  // A boundary: each value keeps its type.
  return shifted(payload) as Payload;
}

function timesIn(value: unknown): number[] {
  if (isTime(value)) return [Date.parse(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(timesIn);
}
