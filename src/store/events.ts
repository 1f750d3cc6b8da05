import type { DueDelivery, NewEvent, PublishedEvent } from "../domain/deliveries.ts";

/**
 * Reserves a slot in memory for a new delivery of an application. Returns false if the delivery must stay in the store.
 * With `isBehind`, the store may have earlier deliveries that this process does not know.
 */
export type ReserveSlot = (applicationId: string, isBehind?: boolean) => boolean;

/** Published events and their fan-out to subscriptions. */
export interface EventStore {
  /**
   * Stores the event with one delivery per subscription. An event that was published before with the same id gets the
   * same result, and nothing is stored. Rejects with `conflict` when the id is that of another event, and with
   * `invalid_parameter` when the broadcaster does not exist.
   *
   * @param reserveSlot called for each delivery that is to be sent; those with a slot are returned as `taken`, all
   * others wait for `claim`
   */
  publish(event: NewEvent, reserveSlot: ReserveSlot): Promise<StoredEvent>;
  /** Stores all of these events, or rejects with `BatchRefused` and stores none. */
  publishAll(events: readonly NewEvent[], reserveSlot: ReserveSlot): Promise<StoredEvents>;
}

/** A published event with its new deliveries. */
export interface StoredEvent extends PublishedEvent {
  /** The deliveries that have a slot in memory, in order. */
  readonly taken: readonly DueDelivery[];
  /** Ids of applications with new deliveries on their event stream. */
  readonly streamed: readonly string[];
}

/** Events that were published together. */
export interface StoredEvents extends Pick<StoredEvent, "taken" | "streamed"> {
  readonly published: readonly PublishedEvent[];
}
