/** What became of spans since the start. */
export interface SpanCounts {
  readonly exported: number;
  /** Those that the collector did not take, or for which there was no room. */
  readonly dropped: number;
}

export const noSpans: SpanCounts = { exported: 0, dropped: 0 };
