import type { DueDelivery, NewEvent, TraceContext } from "../../domain/deliveries.ts";
import { type ActiveSpan, type Tracer, traceparentOf } from "./tracer.ts";

/** An attempt that has ended. */
interface EndedAttemptFields {
  readonly delivery: Pick<DueDelivery, "id" | "application_id" | "subscription_id" | "attempts" | "event">;
  readonly url: string | null;
  readonly outcome: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** The most events whose trace is kept in memory. */
const maxEvents = 20_000;

/**
 * The spans of attempts. The process that published an event keeps its trace in memory, for the last events. Attempts
 * for other events, for example after a restart or on another replica, have a trace that is derived from the event's
 * id.
 */
export class AttemptTraces {
  readonly #tracer: Tracer;
  /** The oldest first. */
  readonly #events = new Map<string, TraceContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Notes the trace of an event. A repeated event keeps its first trace. */
  note({ id, trace }: NewEvent): void {
    if (!trace || this.#events.has(id)) return;
    const [oldest] = this.#events.keys();
    if (oldest !== undefined && this.#events.size >= maxEvents) this.#events.delete(oldest);
    this.#events.set(id, trace);
  }

  /** Begins the span of an attempt. */
  begin({ event }: Pick<DueDelivery, "event">): ActiveSpan {
    const parent = this.#events.get(event.id);
    return parent ? this.#tracer.begin(parent) : this.#tracer.beginTrace(traceIdOf(event.id));
  }

  /** Adds the header that passes the trace to the receiver. */
  addHeader(headers: Record<string, string>, { context }: ActiveSpan): void {
    headers["traceparent"] = traceparentOf(context);
  }

  /** Ends the span of an attempt. */
  end(span: ActiveSpan, { delivery, url, outcome, status, error }: EndedAttemptFields): void {
    if (!span.context.isSampled) return;
    const { id, application_id, subscription_id, attempts, event } = delivery;
    const target = url !== null && URL.canParse(url) ? new URL(url) : null;
    this.#tracer.end(span, {
      name: `deliver ${event.name}`,
      kind: "client",
      attributes: {
        "http.request.method": "POST",
        // Without the path, which may contain a secret of the receiver.
        "server.address": target?.hostname ?? null,
        "server.port": target && portOf(target),
        "http.response.status_code": status,
        "error.type": errorType(outcome, status),
        "onair.event_id": event.id,
        "onair.delivery_id": id,
        "onair.application_id": application_id,
        "onair.subscription_id": subscription_id,
        "onair.attempt": attempts + 1,
        "onair.outcome": outcome,
      },
      error,
    });
  }
}

const portOf = ({ port, protocol }: URL) => Number(port) || (protocol === "https:" ? 443 : 80);

/** Returns the status if it is the error, else the class of the outcome; null for a success. */
function errorType(outcome: string, status: number | null): string | null {
  if (outcome === "ok") return null;
  return outcome === "status" && status !== null ? String(status) : outcome;
}

function traceIdOf(eventId: string): string {
  return new Bun.CryptoHasher("sha256").update(eventId).digest("hex").slice(0, 32);
}
