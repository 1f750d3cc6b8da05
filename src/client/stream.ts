import type { Client } from "./create-client.ts";
import { type FollowOptions, followStream } from "./event-stream.ts";
import {
  type AnyEvent,
  type DeliveryInfo,
  eventOf,
  type NoticeEvent,
  type PlatformEvent,
  type ReceivedEvent,
} from "./events.ts";

/**
 * Events published in this time are no longer kept. `GET /public/v1/events/deliveries` may still list their deliveries.
 */
export interface StreamGap {
  readonly type: "gap";
  /** The position in the stream. */
  readonly position: string;
  readonly data: { readonly from: string; readonly to: string };
}

/** A notice on the stream; it belongs to no subscription. */
export type StreamNotice = NoticeEvent & {
  readonly delivery: Pick<DeliveryInfo, "id">;
  readonly position: string;
};

/** An event of the stream; a later stream can start after its `position`. */
export type StreamEvent<Event> = ReceivedEvent<Event> & { readonly position: string };

/**
 * Yields the events of the application, or of the user whose token the client has, as they happen, and notices about
 * the application's endpoint. Reconnects after an interruption and continues at its position. Ends with `signal`.
 * Throws an `OnairError` when the server refuses permanently. `Own` are event types that the platform registered.
 */
export async function* stream<Own extends AnyEvent = never>(
  client: Pick<Client, "fetch">,
  options: FollowOptions = {},
): AsyncGenerator<StreamEvent<PlatformEvent | NoInfer<Own>> | StreamNotice | StreamGap, void> {
  for await (const { type, id: position, data } of followStream(client, options)) {
    if (type === "gap") yield { type, position, data: JSON.parse(data) };
    else {
      const { headers, body } = JSON.parse(data) as { headers: Record<string, string>; body: string };
      yield { ...eventOf<PlatformEvent | Own>(body, (name) => headers[name]), position };
    }
  }
}
