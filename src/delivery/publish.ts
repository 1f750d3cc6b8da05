import { BatchRefused } from "../domain/batches.ts";
import type { DueDelivery, EventSink, ReserveSlot, StoredEvent } from "../domain/deliveries.ts";
import { DomainError } from "../domain/errors.ts";
import type { Store } from "../domain/store.ts";
import type { Dispatcher } from "./dispatcher.ts";

/**
 * Publishes events: stores them, then passes their deliveries to the dispatcher in memory, as far as it has capacity.
 *
 * @param streamed called with the applications whose event stream has new events
 */
export function eventSink(
  store: Pick<Store, "events">,
  dispatcher: Pick<Dispatcher, "reserve" | "outcomeUnknown">,
  streamed: (applicationIds: readonly string[]) => void = () => {},
): EventSink {
  const keep = async <T extends Pick<StoredEvent, "taken" | "streamed">>(
    write: (reserveSlot: ReserveSlot) => Promise<T>,
  ): Promise<T> => {
    const reservation = dispatcher.reserve();
    let taken: readonly DueDelivery[] = [];
    try {
      const stored = await write(reservation.reserveSlot);
      taken = stored.taken;
      if (stored.streamed.length > 0) streamed(stored.streamed);
      return stored;
    } catch (error) {
      if (!isRefusal(error)) dispatcher.outcomeUnknown();
      throw error;
    } finally {
      reservation.end(taken);
    }
  };
  return {
    async publish(event) {
      const { id, deliveries } = await keep((reserveSlot) => store.events.publish(event, reserveSlot));
      return { id, deliveries };
    },
    async publishAll(events) {
      const { published } = await keep((reserveSlot) => store.events.publishAll(events, reserveSlot));
      return published;
    },
  };
}

/** Whether an error guarantees that nothing was stored. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof DomainError)) return error instanceof BatchRefused;
  return error.code !== "unavailable" || error.details.isNothingKept === true;
}
