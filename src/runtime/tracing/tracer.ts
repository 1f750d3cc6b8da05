import type { TraceContext } from "../../domain/deliveries.ts";

type SpanKind = "server" | "client" | "producer";

/** A span that has not ended. */
export interface ActiveSpan {
  readonly context: TraceContext;
  /** The trace id in the collector; null if the trace is not sampled. */
  readonly sampledTraceId: string | null;
  /** null for the root of a trace. */
  readonly parentId: string | null;
  /** On the clock of `performance.now`. */
  readonly startedAt: number;
}

/** The properties of a span that are set at its end. */
interface SpanEnd {
  readonly name: string;
  readonly kind: SpanKind;
  /** Attributes that are null are left out. */
  readonly attributes: Readonly<Record<string, string | number | null>>;
  /** The error; null for none. */
  readonly error: string | null;
}

export interface EndedSpan extends SpanEnd {
  readonly span: ActiveSpan;
  /** On the clock of `performance.now`. */
  readonly endedAt: number;
}

/** Makes spans, and passes sampled ones on at their end. */
export class Tracer {
  readonly #add: (span: EndedSpan) => void;
  readonly #share: number;

  /** @param share the share of traces beginning here that are sampled, from 0 to 1 */
  constructor(add: (span: EndedSpan) => void, share: number) {
    this.#add = add;
    this.#share = share;
  }

  /**
   * Begins a span. It is sampled if its parent is. If the parent is untrusted, because any client may have sent it, the
   * share must include the trace, too.
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

  /** Ends a span. */
  end(span: ActiveSpan, end: SpanEnd): void {
    if (span.context.isSampled) this.#add({ ...end, span, endedAt: performance.now() });
  }

  /** Whether the share includes a trace. Decided by the id, so that all processes decide alike. */
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

/** Later versions may have more fields after these. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header `traceparent`; returns null if it is absent or invalid. */
export function readTraceparent(header: string | null): TraceContext | null {
  const [, version, traceId, spanId, flags = "", more] = form.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the value of the header `traceparent`. */
export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
