import { Type } from "@sinclair/typebox";
import { channelFollowed } from "../../domain/events/channel-followed.ts";
import { eventStream } from "../answers.ts";
import { tokenOf } from "../auth.ts";
import { TextParameter, TimeParameter, timeGiven } from "../parameters.ts";
import type { TokenListener } from "../public/base.ts";
import { exampleSentDelivery } from "../public/delivery-fields.ts";
import type { EventStreams } from "./event-streams.ts";
import { replyStream } from "./reply-stream.ts";

const exampleId =
  "mHqk5s2Wb8cZtQ3fYx0oJ1Kd0zq3GmVt8w1LrXy5uNsAeK0qS7vXo2dT4iPzR9cBnLw6jYhUaF1gM3kE8rVtDpQxCyZ5bWsJ";

const StreamHeaders = Type.Object(
  {
    "Last-Event-ID": Type.Optional(
      TextParameter({
        maxLength: 200,
        description: "The last `id` that you got: the stream goes on behind it.",
        examples: [exampleId],
      }),
    ),
  },
  { additionalProperties: true },
);

const StreamQuery = Type.Object({
  after: Type.Optional(
    TimeParameter({
      description:
        "Without `Last-Event-ID` the stream begins with what was published then or later. Without either it begins now.",
      examples: ["2026-01-14T16:00:00Z"],
    }),
  ),
});

const exampleBody = {
  type: "channel.followed",
  version: 1,
  timestamp: "2026-01-14T16:08:06.123Z",
  data: channelFollowed.example,
};
const { "content-type": _, ...sentHeaders } = exampleSentDelivery.request?.headers ?? {};
const exampleHeaders = {
  ...sentHeaders,
  "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
};
const exampleData = JSON.stringify({ headers: exampleHeaders, body: JSON.stringify(exampleBody) });
const example = `retry: 1000\nid: ${exampleId}\nevent: channel.followed\ndata: ${exampleData}\n\n`;

/** `GET /public/v1/events/stream`: deliveries as server-sent events. */
export function streamRoute(app: TokenListener, streams: Pick<EventStreams, "open">): void {
  app.get(
    "/public/v1/events/stream",
    ({ query: { after }, headers, bearer, caller, requestContext, request }) => {
      const lastId = headers["Last-Event-ID"] || null;
      const token = tokenOf(bearer, request.headers.get("authorization") ?? undefined) ?? "";
      return replyStream(requestContext, (cut) =>
        streams.open({ caller, lastId, after: timeGiven(after), token, cut }),
      );
    },
    {
      stream: true,
      query: StreamQuery,
      headers: StreamHeaders,
      response: { 200: eventStream("The stream.", example) },
      errors: ["invalid_cursor", "stream_disabled"],
      detail: {
        operationId: "streamEvents",
        tags: ["Events"],
        description:
          "The events of your subscriptions as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), for programs that cannot receive webhooks; with a user token, those whose broadcaster is that user. The `delivery` of your application has to be `stream` or `both`.\n\n`event` is the type and `data` a JSON object: `headers`, exactly as a webhook would have them, and `body`, the exact text of a webhook's body, so that what verifies webhooks verifies this. `id` is where to go on: send the last one as `Last-Event-ID` when you connect again. A program that has had no event yet has no id: `after` with the time of its start misses nothing. Delivery is at least once, and `webhook-id` tells what you have already. An event `gap` with `from` and `to` says that what was published between them is no longer kept. Only events have an `id`, and after some 15 seconds of silence there is a comment. With a token of the application itself and the delivery `both`, the stream also has [notices](#tag/application/GET/public/v1/application/notices) about its endpoint, as events of their `type` that belong to no subscription. A reader that takes nothing for 30 seconds is cut off, and a stream whose token ends is ended.",
      },
    },
  );
}
