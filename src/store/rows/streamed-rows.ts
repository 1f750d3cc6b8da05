import type { StreamedDelivery } from "../../domain/deliveries.ts";

/** The most deliveries, and the size of bodies after which no further one is read, in one read of an event stream. */
export const mostStreamed = { deliveries: 256, bytes: 256 * 1024 } as const;

/** A row with a delivery and its event, without the body. */
export interface StreamedRow
  extends Omit<StreamedDelivery, "attempts" | "event">,
    Omit<StreamedDelivery["event"], "id" | "body"> {
  readonly event_id: string;
}

export function streamedDelivery(row: StreamedRow, body: string): StreamedDelivery {
  const { seq, id, subscription_id, sequence, event_id, name, version, published_at } = row;
  const event = { id: event_id, name, version, body };
  return { seq, id, subscription_id, sequence, attempts: 0, published_at, event };
}
