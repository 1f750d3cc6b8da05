import type {
  DueDelivery,
  FilteredEvent,
  PublishToEngine,
  ReserveSlot,
  StoredEvent,
} from "../domain/deliveries.ts";
import { BatchRefused, DomainError } from "../domain/errors.ts";
import type { Store } from "../domain/store.ts";
import type { AttemptTraces } from "../runtime/tracing.ts";
import type { Dispatcher } from "./attempt.ts";

interface Observers {
  /** Called with the applications whose event stream has new events. */
  readonly streamed?: (applicationIds: readonly string[]) => void;
  /** Called with the applications that do not get an event, because it does not match their filter. */
  readonly filtered?: (events: readonly FilteredEvent[]) => void;
  /** Notes the trace of each event before its attempts can begin; null while tracing is off. */
  readonly traces?: Pick<AttemptTraces, "note"> | null;
}

/** Publishes events: stores them, then passes deliveries to the dispatcher in memory, as far as it has capacity. */
export function publishToEngine(
  store: Pick<Store, "events">,
  dispatcher: Pick<Dispatcher, "reserve" | "outcomeUnknown">,
  { streamed = () => {}, filtered = () => {}, traces = null }: Observers = {},
): PublishToEngine {
  const keep = async <T extends Pick<StoredEvent, "taken" | "streamed" | "filtered">>(
    write: (reserveSlot: ReserveSlot) => Promise<T>,
  ): Promise<T> => {
    const reservation = dispatcher.reserve();
    let taken: readonly DueDelivery[] = [];
    try {
      const stored = await write(reservation.reserveSlot);
      taken = stored.taken;
      if (stored.streamed.length > 0) streamed(stored.streamed);
      if (stored.filtered.length > 0) filtered(stored.filtered);
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
      traces?.note(event);
      const { id, deliveries } = await keep((reserveSlot) => store.events.publish(event, reserveSlot));
      return { id, deliveries };
    },
    async publishAll(events) {
      if (traces) for (const event of events) traces.note(event);
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
