import type { DueDelivery, EventSink } from "../domain/deliveries.ts";
import { DomainError } from "../domain/errors.ts";
import { BatchRefused } from "../store/batch.ts";
import type { StoredEvent, Takes } from "../store/events.ts";
import type { Store } from "../store/store.ts";
import type { Dispatcher } from "./dispatcher.ts";

/**
 * Keeps events in the store. Their deliveries go to the dispatcher straight from memory where it has the capacity.
 *
 * @param streamed called with the applications that have something new on their event stream
 */
export function eventSink(
  store: Pick<Store, "events">,
  dispatcher: Pick<Dispatcher, "reserve" | "unanswered">,
  streamed: (applicationIds: readonly string[]) => void = () => {},
): EventSink {
  const keep = async <T extends Pick<StoredEvent, "taken" | "streamed">>(
    write: (takes: Takes) => Promise<T>,
  ): Promise<T> => {
    const reservation = dispatcher.reserve();
    let taken: readonly DueDelivery[] = [];
    try {
      const stored = await write(reservation.takes);
      taken = stored.taken;
      if (stored.streamed.length > 0) streamed(stored.streamed);
      return stored;
    } catch (error) {
      if (!isRefusal(error)) dispatcher.unanswered();
      throw error;
    } finally {
      reservation.end(taken);
    }
  };
  return {
    async publish(event) {
      const { id, deliveries } = await keep((takes) => store.events.publish(event, takes));
      return { id, deliveries };
    },
    async publishAll(events) {
      const { published } = await keep((takes) => store.events.publishAll(events, takes));
      return published;
    },
  };
}

/** Whether the storage has refused events: then nothing of them was kept. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof DomainError)) return error instanceof BatchRefused;
  return error.code !== "unavailable" || error.details.isNothingKept === true;
}
