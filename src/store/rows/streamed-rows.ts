import type { StreamedDelivery } from "../../domain/deliveries.ts";

/** What one call for an event stream gives at most: deliveries, and bytes of their bodies. */
export const mostStreamed = { deliveries: 256, bytes: 256 * 1024 } as const;

/** A delivery with its event as a row, but for the body. */
export interface StreamedRow {
  readonly seq: number;
  readonly id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly name: string;
  readonly version: number;
  readonly published_at: number;
}

export function streamedDelivery(row: StreamedRow, body: string): StreamedDelivery {
  const { seq, id, subscription_id, sequence, event_id, name, version, published_at } = row;
  const event = { id: event_id, name, version, body };
  return { seq, id, subscription_id, sequence, attempts: 0, published_at, event };
}
