/** The number of spans since the start, by outcome. */
export interface SpanCounts {
  readonly exported: number;
  /** Spans that the collector refused or that a full buffer dropped. */
  readonly dropped: number;
}

export const noSpans: SpanCounts = { exported: 0, dropped: 0 };
