import { builtInEventTypes } from "../domain/events/built-in.ts";

/** The names of the built-in event types. */
export const eventNames: readonly string[] = builtInEventTypes.map(({ name }) => name);
