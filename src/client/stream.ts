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

/** What was published in this time is no longer kept; `GET /public/v1/events/deliveries` may still tell what it was. */
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

/** An event of the stream; `position` is where a later stream can begin. */
export type StreamEvent<Event> = ReceivedEvent<Event> & { readonly position: string };

/**
 * The events of the application, or of the user whose token the client has, as they happen, with notices about the
 * application's endpoint. Connects again by itself after an interruption and goes on where it was; ends with `signal`. Throws `OnairError` when the server refuses for
 * good. `Own` are event types that the platform registered.
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
