import type { FieldProblem } from "../errors.ts";
import { timesInUtc } from "../validation/fields.ts";
import { problems } from "../validation/problems.ts";
import { builtInEventTypes } from "./built-in.ts";
import type { EventType } from "./event-type.ts";

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
