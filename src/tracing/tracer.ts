import type { TraceContext } from "../domain/deliveries.ts";

type SpanKind = "server" | "client" | "producer";

/** A span that has begun. */
export interface ActiveSpan {
  readonly context: TraceContext;
  /** The id by which a collector has the trace; null where it is not sampled. */
  readonly sampledTraceId: string | null;
  /** null at the root of a trace. */
  readonly parentId: string | null;
  /** On the clock of `performance.now`. */
  readonly startedAt: number;
}

/** What is known of a span at its end. */
interface SpanEnd {
  readonly name: string;
  readonly kind: SpanKind;
  /** Those that are null are left out. */
  readonly attributes: Readonly<Record<string, string | number | null>>;
  /** What went wrong; null for nothing. */
  readonly error: string | null;
}

export interface EndedSpan extends SpanEnd {
  readonly span: ActiveSpan;
  /** On the clock of `performance.now`. */
  readonly endedAt: number;
}

/** Makes spans, and hands those that are sampled over at their end. */
export class Tracer {
  readonly #add: (span: EndedSpan) => void;
  readonly #share: number;

  /** @param share of the traces that begin here which are sampled, from 0 to 1 */
  constructor(add: (span: EndedSpan) => void, share: number) {
    this.#add = add;
    this.#share = share;
  }

  /**
   * Begins a span. A parent decides whether it is sampled; one from outside (`isTrusted` is false) may only leave it out,
   * because any client could have everything exported.
   */
  begin(parent: TraceContext | null, isTrusted = true): ActiveSpan {
    if (!parent) return this.beginTrace(randomHex(16));
    const { traceId } = parent;
    const isSampled = parent.isSampled && (isTrusted || this.#isChosen(traceId));
    return begun(traceId, parent.spanId, isSampled);
  }

  /** Begins the first span of a trace with this id. */
  beginTrace(traceId: string): ActiveSpan {
    return begun(traceId, null, this.#isChosen(traceId));
  }

  end(span: ActiveSpan, end: SpanEnd): void {
    if (span.context.isSampled) this.#add({ ...end, span, endedAt: performance.now() });
  }

  /** By the id, so that all processes choose alike. */
  #isChosen(traceId: string): boolean {
    return Number.parseInt(traceId.slice(-12), 16) < this.#share * 2 ** 48;
  }
}

function begun(traceId: string, parentId: string | null, isSampled: boolean): ActiveSpan {
  const context = { traceId, spanId: randomHex(8), isSampled };
  return { context, sampledTraceId: isSampled ? traceId : null, parentId, startedAt: performance.now() };
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(Buffer.allocUnsafe(bytes)).toString("hex");
}
