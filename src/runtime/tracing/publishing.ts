import type { NewEvent, PublishedEvent, TraceContext } from "../../domain/deliveries.ts";
import type { ActiveSpan, Tracer } from "./tracer.ts";

/** The spans of publishing. Each ends when its event is on disk. */
export class PublishTraces {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Publishes an event in a span, which becomes the parent of its attempts. */
  async one(
    event: NewEvent,
    parent: TraceContext | null,
    publish: (event: NewEvent) => Promise<PublishedEvent>,
  ): Promise<PublishedEvent> {
    const [published] = await this.all([event], parent, async ([traced = event]) => [await publish(traced)]);
    if (!published) throw new Error("publishing returned no event");
    return published;
  }

  /** The same for several events, all or none of which are stored. */
  async all(
    events: readonly NewEvent[],
    parent: TraceContext | null,
    publish: (events: readonly NewEvent[]) => Promise<readonly PublishedEvent[]>,
  ): Promise<readonly PublishedEvent[]> {
    const spans = events.map(() => this.#tracer.begin(parent));
    try {
      const published = await publish(events.map((event, i) => traced(event, spans[i])));
      this.#end(events, spans, (i) => ({ deliveries: published[i]?.deliveries ?? null, error: null }));
      return published;
    } catch (error) {
      this.#end(events, spans, () => ({ deliveries: null, error: "The event was not stored." }));
      throw error;
    }
  }

  #end(
    events: readonly NewEvent[],
    spans: readonly ActiveSpan[],
    outcomeOf: (i: number) => { readonly deliveries: number | null; readonly error: string | null },
  ): void {
    for (const [i, span] of spans.entries()) {
      const event = events[i];
      const { deliveries, error } = outcomeOf(i);
      this.#tracer.end(span, {
        name: `publish ${event?.name}`,
        kind: "producer",
        attributes: {
          "onair.event_id": event?.id ?? null,
          "onair.broadcaster_user_id": event?.broadcaster_user_id ?? null,
          "onair.deliveries": deliveries,
        },
        error,
      });
    }
  }
}

function traced(event: NewEvent, span: ActiveSpan | undefined): NewEvent {
  return span ? { ...event, trace: span.context } : event;
}
