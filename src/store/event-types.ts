import type { NewEventType, RegisteredEventType } from "../domain/events/registered.ts";

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
