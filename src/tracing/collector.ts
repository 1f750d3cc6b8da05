/** Where a collector takes spans, below its address. */
export const tracesPath = "/v1/traces";

/** Where spans go. */
export interface Collector {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that are sampled, from 0 to 1. */
  readonly share: number;
}
