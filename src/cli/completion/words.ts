import type { Environment } from "../../config/read-config.ts";
import { builtInEventTypes } from "../../domain/events/catalogue.ts";
import { Profiles } from "../client/profiles.ts";

/** The names of the built-in event types. */
export const eventNames: readonly string[] = builtInEventTypes.map(({ name }) => name);

/** Returns the names of the stored profiles. */
export function profileNames(env: Environment): readonly string[] {
  return new Profiles(env).names();
}
