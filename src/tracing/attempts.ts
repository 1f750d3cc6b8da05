import type { DueDelivery, NewEvent, TraceContext } from "../domain/deliveries.ts";
import { traceparentOf } from "./trace-context.ts";
import type { ActiveSpan, Tracer } from "./tracer.ts";

/** An attempt that has ended. */
interface EndedAttemptFields {
  readonly delivery: Pick<DueDelivery, "id" | "application_id" | "subscription_id" | "attempts" | "event">;
  readonly url: string | null;
  readonly outcome: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** Events whose trace is known. */
const maxEvents = 20_000;

/**
 * The spans of attempts. To which trace an event belongs is known to the process that took it, for the last ones. Attempts
 * for other events, as after a restart or on another replica, have a trace that follows from the event's id.
 */
export class AttemptTraces {
  readonly #tracer: Tracer;
  /** The oldest first. */
  readonly #events = new Map<string, TraceContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Notes the trace of an event; one that is published again stays in its first. */
  note({ id, trace }: NewEvent): void {
    if (!trace || this.#events.has(id)) return;
    const [oldest] = this.#events.keys();
    if (oldest !== undefined && this.#events.size >= maxEvents) this.#events.delete(oldest);
    this.#events.set(id, trace);
  }

  begin({ event }: Pick<DueDelivery, "event">): ActiveSpan {
    const parent = this.#events.get(event.id);
    return parent ? this.#tracer.begin(parent) : this.#tracer.beginTrace(traceIdOf(event.id));
  }

  /** Sends the trace to the receiver. */
  addHeader(headers: Record<string, string>, { context }: ActiveSpan): void {
    headers["traceparent"] = traceparentOf(context);
  }

  end(span: ActiveSpan, { delivery, url, outcome, status, error }: EndedAttemptFields): void {
    if (!span.context.isSampled) return;
    const { id, application_id, subscription_id, attempts, event } = delivery;
    const target = url !== null && URL.canParse(url) ? new URL(url) : null;
    this.#tracer.end(span, {
      name: `deliver ${event.name}`,
      kind: "client",
      attributes: {
        "http.request.method": "POST",
        // Not the path, which may hold a secret of the receiver's.
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

/** The status where that is the error; null without one. */
function errorType(outcome: string, status: number | null): string | null {
  if (outcome === "ok") return null;
  return outcome === "status" && status !== null ? String(status) : outcome;
}

function traceIdOf(eventId: string): string {
  return new Bun.CryptoHasher("sha256").update(eventId).digest("hex").slice(0, 32);
}
