/** The path of the collector's endpoint for spans. */
export const tracesPath = "/v1/traces";

/** The settings of the collector that spans are exported to. */
export interface Collector {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that are sampled, from 0 to 1. */
  readonly share: number;
}

/** The number of spans since the start, by outcome. */
export interface SpanCounts {
  readonly exported: number;
  /** Spans that the collector refused or that a full buffer dropped. */
  readonly dropped: number;
}

export const noSpans: SpanCounts = { exported: 0, dropped: 0 };
