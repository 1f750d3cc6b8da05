/** The path of the collector's endpoint for spans. */
export const tracesPath = "/v1/traces";

/** The settings of the collector that spans are exported to. */
export interface Collector {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces that are sampled, from 0 to 1. */
  readonly share: number;
}
