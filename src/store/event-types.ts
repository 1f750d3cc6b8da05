import type { NewEventType, RegisteredEventType } from "../domain/events/registered.ts";

/** Event types that operators have registered. */
export interface EventTypeStore {
  /**
   * Keeps a type, or changes its description, example and time to live. Rejects with `conflict` where its schema is
   * another one than that of the same version before, or there are too many types.
   */
  put(type: NewEventType, now: number): Promise<RegisteredEventType>;
  all(): Promise<RegisteredEventType[]>;
  /**
   * With its subscriptions; false where there is none. Rejects with `conflict` where an event of it was published.
   */
  remove(name: string, version: number): Promise<boolean>;
}
