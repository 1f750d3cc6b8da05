import { Type } from "@sinclair/typebox";
import { mostStreamShards, type StreamShard } from "../../domain/deliveries.ts";
import { channelFollowed } from "../../domain/events/built-in.ts";
import { eventStream } from "../http/answers.ts";
import { optionalFields, TextParameter, TimeParameter, timeParameterMs } from "../http/parameters.ts";
import { frame, opening, replyStream } from "../stream/event-stream.ts";
import type { LastId } from "../stream/streams.ts";
import { exampleSentDelivery } from "./deliveries.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

const exampleId =
  "mHqk5s2Wb8cZtQ3fYx0oJ1Kd0zq3GmVt8w1LrXy5uNsAeK0qS7vXo2dT4iPzR9cBnLw6jYhUaF1gM3kE8rVtDpQxCyZ5bWsJ";

const lastId = { maxLength: 200, examples: [exampleId] };

const StreamHeaders = Type.Object(
  {
    "Last-Event-ID": Type.Optional(
      TextParameter({
        ...lastId,
        description: "The last `id` that you received. The stream continues after it.",
      }),
    ),
  },
  { additionalProperties: true },
);

const shardForm = `must be K/N with K from 1 to N and N at most ${mostStreamShards}, for example 2/8`;

function shardOf(text: string): StreamShard {
  const [number = 0, count = 0] = text.split("/").map(Number);
  return { number, count };
}

const StreamQuery = Type.Object(
  optionalFields({
    lastEventId: TextParameter({
      ...lastId,
      allowEmptyValue: true,
      description:
        "The same as the header `Last-Event-ID`, which takes precedence, for clients that cannot send it.",
    }),
    shard: TextParameter({
      pattern: "^[1-9][0-9]?/[1-9][0-9]?$",
      errorMessage: shardForm,
      refine(text) {
        const { number, count } = shardOf(text);
        return number <= count && count <= mostStreamShards ? null : shardForm;
      },
      description: `Divides the stream, so that several processes share the work: \`2/8\` is the second of eight shards, each with the events of an eighth of the broadcasters. \`K/N\` has the broadcasters whose id, divided by N, leaves the remainder K - 1; the first shard also has events without a broadcaster and notices. All N shards together are the whole stream. At most ${mostStreamShards} shards. An \`id\` is valid for its shard; to change the number of shards, continue with \`after\`.`,
      examples: ["2/8"],
    }),
    after: TimeParameter({
      description:
        "Without `Last-Event-ID`, the stream begins with events published at or after this time. Without both, it begins with new events.",
      examples: ["2026-01-14T16:00:00Z"],
    }),
  }),
);

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
const exampleData = { headers: exampleHeaders, body: JSON.stringify(exampleBody) };
const example = opening + frame("channel.followed", exampleData, exampleId);

/**
 * Returns the id to continue after; null if there is none. The header has the newer id, because an `EventSource` keeps
 * its URL when it reconnects.
 */
function lastIdOf(header: string | undefined, query: string | undefined): LastId | null {
  if (header) return { in: "header", field: "Last-Event-ID", text: header };
  return query ? { in: "query", field: "lastEventId", text: query } : null;
}

/** `GET /public/v1/events/stream`: deliveries as server-sent events. */
export function streamRoute(app: TokenListener, { streams }: PublicDeps): void {
  app.get(
    "/public/v1/events/stream",
    ({ query: { lastEventId, shard, after }, headers, caller, token, requestContext }) => {
      const lastId = lastIdOf(headers["Last-Event-ID"], lastEventId);
      return replyStream(requestContext, (cut) =>
        streams.open({
          caller,
          lastId,
          shard: shard === undefined ? null : shardOf(shard),
          after: timeParameterMs(after),
          token,
          cut,
        }),
      );
    },
    {
      stream: true,
      query: StreamQuery,
      headers: StreamHeaders,
      response: { 200: eventStream("The stream.", example) },
      errors: ["stream_disabled"],
      detail: {
        operationId: "streamEvents",
        tags: ["Events"],
        description:
          "Streams the events of the calling application's subscriptions as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), for programs that cannot receive webhooks. With a user token, it streams only those whose broadcaster is that user. The `delivery` of the application must be `stream` or `both`.\n\n`event` is the event type. `data` is a JSON object with `headers`, the same headers as those of a webhook, and `body`, the exact text of a webhook's body, so that code that verifies webhooks can verify it. To resume a stream, send the last `id` as `Last-Event-ID`, or as `?lastEventId=`. A program that has not received an event yet has no `id`; it can pass the time of its start as `after` to miss nothing. Delivery is at least once; use `webhook-id` to detect duplicates. An event `gap` with `from` and `to` means that events published in this range are no longer kept. Only events have an `id`; after about 15 seconds without one, a comment is sent. With a token of the application itself and `delivery` set to `both`, the stream also has [notices](#getNotices) about its endpoint, as events of their `type` that belong to no subscription. A client that reads nothing for 30 seconds is disconnected. The stream ends when its token expires or is revoked.",
      },
    },
  );
}
