import type { DueDelivery, NewEvent, PublishedEvent } from "../domain/deliveries.ts";

/**
 * Whether the dispatcher takes a new delivery for an application into memory. With `isBehind`, the store may have
 * earlier deliveries that this process does not know.
 */
export type Takes = (applicationId: string, isBehind?: boolean) => boolean;

/** Published events and their fan-out to subscriptions. */
export interface EventStore {
  /**
   * Stores the event with one delivery per subscription. An event that was published before with the same id gets the
   * same result, and nothing is stored. Rejects with `conflict` when the id is that of another event, and with
   * `invalid_parameter` when the broadcaster does not exist.
   *
   * @param takes called for each delivery that is to be sent; those it accepts are returned as `taken`, all others wait
   * for `claim`
   */
  publish(event: NewEvent, takes: Takes): Promise<StoredEvent>;
  /** Stores all of these events, or rejects with `BatchRefused` and stores none. */
  publishAll(
    events: readonly NewEvent[],
    takes: Takes,
  ): Promise<Pick<StoredEvent, "taken" | "streamed"> & { readonly published: readonly PublishedEvent[] }>;
}

/** A published event with its new deliveries. */
export interface StoredEvent extends PublishedEvent {
  /** The deliveries that the dispatcher has taken, in order. */
  readonly taken: readonly DueDelivery[];
  /** Ids of applications with new deliveries on their event stream. */
  readonly streamed: readonly string[];
}
