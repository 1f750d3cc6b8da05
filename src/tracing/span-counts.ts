/** What became of spans since the start. */
export interface SpanCounts {
  readonly exported: number;
  /** Spans that the collector refused, and those dropped by a full buffer. */
  readonly dropped: number;
}

export const noSpans: SpanCounts = { exported: 0, dropped: 0 };
