import type { DueDelivery, NewEvent, PublishedEvent } from "../domain/deliveries.ts";

/**
 * Whether the dispatcher takes a delivery for an application at once. `isBehind`: what this process does not know of may
 * wait before it in the store.
 */
export type Takes = (applicationId: string, isBehind?: boolean) => boolean;

/** Events that were published, with their fan-out. */
export interface EventStore {
  /**
   * Keeps the event together with one delivery per subscription. The same id again answers as before and keeps
   * nothing; rejects with `conflict` where that id was another event's, with `invalid_parameter` where the
   * broadcaster does not exist. `takes` is asked for each delivery, inside the transaction, whether the dispatcher
   * takes it at once; these are `taken`, in order, and the others are left for `claim`. `streamed`: the applications
   * that have new deliveries on their event stream; where that is all they use, these are final.
   */
  publish(event: NewEvent, takes: Takes): Promise<StoredEvent>;
  /** Keeps all of these events or none: then it rejects with `BatchRefused`. */
  publishAll(
    events: readonly NewEvent[],
    takes: Takes,
  ): Promise<Pick<StoredEvent, "taken" | "streamed"> & { readonly published: readonly PublishedEvent[] }>;
}

/** What publishing an event has made. */
export interface StoredEvent extends PublishedEvent {
  readonly taken: readonly DueDelivery[];
  readonly streamed: readonly string[];
}
