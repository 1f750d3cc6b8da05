import { Type } from "@sinclair/typebox";
import { DomainError, type FieldProblem, invalidFields } from "../errors.ts";
import { second } from "../time.ts";
import { timesInUtc } from "../validation/fields.ts";
import { problems } from "../validation/problems.ts";
import { builtInEventTypes } from "./built-in.ts";
import type { EventType } from "./event-type.ts";
import type { PayloadCheck } from "./schema-check.ts";

/** All event types of an installation: first those that are built in, then those that operators registered. */
export class Catalogue {
  #registered: readonly EventType[] = [];

  /** All types; a new array after every change. */
  get types(): readonly EventType[] {
    return this.#types;
  }
  #types: readonly EventType[] = builtInEventTypes;

  /** The types that operators registered. */
  get registered(): readonly EventType[] {
    return this.#registered;
  }

  /** The type with this name and version. */
  find(name: string, version: number): EventType | undefined {
    return this.#types.find((type) => type.name === name && type.version === version);
  }

  /** Whether any version of the type exists. */
  has(name: string): boolean {
    return this.#types.some((type) => type.name === name);
  }

  /** Adds a registered type, or replaces the same version. */
  put(type: EventType): void {
    this.#set([...this.#without(type.name, type.version), type]);
  }

  remove(name: string, version: number): void {
    this.#set(this.#without(name, version));
  }

  #without(name: string, version: number): EventType[] {
    return this.#registered.filter((type) => type.name !== name || type.version !== version);
  }

  #set(registered: EventType[]): void {
    this.#registered = registered.sort((a, b) =>
      a.name < b.name ? -1 : a.name > b.name ? 1 : a.version - b.version,
    );
    this.#types = [...builtInEventTypes, ...this.#registered];
  }
}

/**
 * The problems of `data` as a payload of the type, at most 20, whose fields start with `data`; `[]` when it is valid.
 * Puts the times of a valid payload of a built-in type into UTC, in place.
 */
export function checkPayload(type: EventType, data: unknown): FieldProblem[] {
  if (type.check) return type.check(data);
  const wrong = problems(type.payload, data, { in: "body", prefix: "data", of: type.name });
  if (wrong.length === 0) timesInUtc(type.payload, data);
  return wrong;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A stored event type that an operator registered. */
export interface RegisteredEventType {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the payload. */
  readonly schema: JsonObject;
  readonly example: JsonObject;
  readonly time_to_live_seconds: number | null;
  /** Whether an event of the type was ever published. */
  readonly is_published: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The fields of a type that an operator sends. */
type NewEventType = Omit<RegisteredEventType, "is_published" | "created_at" | "updated_at">;

/** The most versions of registered types. */
const mostRegistered = 1_000;

/** Names contain a dot, which distinguishes them from the event stream's own events. */
export const eventNamePattern = "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$";

/**
 * The type in the catalogue's form. Throws `invalid_parameter` for an invalid schema, or an example that does not match
 * it.
 */
export async function eventTypeOf(newType: NewEventType): Promise<EventType> {
  const check = await checkOf(newType);
  const wrong = check(newType.example, "example");
  if (wrong.length > 0) throw invalidFields(wrong);
  return typeOf(newType, check);
}

/** Compiles the schema of a type. Throws `invalid_parameter`. */
async function checkOf({ name, schema }: NewEventType): Promise<PayloadCheck> {
  // Loaded on demand, because it takes longer than the rest of a start.
  const { compileSchema } = await import("./schema-check.ts");
  return compileSchema(schema, name);
}

function typeOf(newType: NewEventType, check: PayloadCheck): EventType {
  const { name, version, description, schema, example, time_to_live_seconds } = newType;
  const timeToLiveMs = time_to_live_seconds === null ? null : time_to_live_seconds * second;
  const payload = Type.Unsafe(schema);
  return { name, version, description, payload, example, timeToLiveMs, check: (data) => check(data, "data") };
}

/** The catalogue with these registered types. */
export async function catalogueOf(registered: readonly RegisteredEventType[]): Promise<Catalogue> {
  const catalogue = new Catalogue();
  await updateCatalogue(catalogue, registered);
  return catalogue;
}

/** Makes a catalogue contain exactly these registered types. */
export async function updateCatalogue(
  catalogue: Catalogue,
  registered: readonly RegisteredEventType[],
): Promise<void> {
  const kept = new Set<string>();
  for (const type of registered) {
    kept.add(`${type.name} ${type.version}`);
    const known = catalogue.find(type.name, type.version);
    // Compiling takes milliseconds, so unchanged types are skipped. Examples were checked when they were stored.
    const isKnown = known && isSame(known, type);
    if (!isKnown) catalogue.put(typeOf(type, await checkOf(type)));
  }
  for (const { name, version } of catalogue.registered) {
    if (!kept.has(`${name} ${version}`)) catalogue.remove(name, version);
  }
}

function isSame({ description, timeToLiveMs, example, payload }: EventType, type: NewEventType): boolean {
  const timeToLive = timeToLiveMs === null ? null : timeToLiveMs / second;
  const known = [description, timeToLive, example, payload];
  const { schema } = type;
  return (
    JSON.stringify(known) ===
    JSON.stringify([type.description, type.time_to_live_seconds, type.example, schema])
  );
}

/**
 * Throws `conflict` when a type cannot be stored: its schema differs from that of `known`, the stored type of the same
 * version, or it is new and there are too many types.
 */
export function checkChange(known: RegisteredEventType | null, type: NewEventType, count: number): void {
  const { name, version, schema } = type;
  if (!known && count >= mostRegistered) {
    throw new DomainError("conflict", `There are ${mostRegistered} event types, which is the limit`);
  }
  if (!known || Bun.deepEquals(known.schema, schema)) return;
  throw new DomainError(
    "conflict",
    `The schema of ${name} version ${version} cannot change, because receivers rely on it; register version ${version + 1}, or delete this one if none of its events was published`,
  );
}

/** Throws `conflict` when an event of the type was published. */
export function checkRemoval({ name, version, is_published }: RegisteredEventType): void {
  if (!is_published) return;
  const message = `Events of ${name} version ${version} were published, so it cannot be deleted`;
  throw new DomainError("conflict", message);
}

/** Event types that operators have registered. */
export interface EventTypeStore {
  /**
   * Stores a type, or changes the description, example and time to live of a known one. Rejects with `conflict` when
   * the schema of a known version would change, or when there are too many types.
   */
  put(type: NewEventType, now: number): Promise<RegisteredEventType>;
  all(): Promise<RegisteredEventType[]>;
  /**
   * Removes a type and its subscriptions; false when there is none. Rejects with `conflict` when an event was
   * published.
   */
  remove(name: string, version: number): Promise<boolean>;
}
