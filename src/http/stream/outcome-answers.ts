import { eventStream } from "../answers.ts";

/*
 * What both APIs say about streams of outcomes.
 */

const exampleOutcome = {
  delivery_id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  subscription_id: "01KATJ1V2GQ5Z8N1F4T7Y0XW3C",
  application_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  type: "channel.followed",
  at: "2026-01-14T16:08:06.312Z",
  status: "delivered",
  attempt: 1,
  outcome: "ok",
  http_status: 204,
  duration_ms: 38,
  error: null,
};

export const Outcomes = eventStream(
  "The stream.",
  `retry: 1000\nevent: outcomes\ndata: ${JSON.stringify({ outcomes: [exampleOutcome], left_out: 0 })}\n\n`,
);

export const outcomesDescription =
  "as [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html), while it happens, for people who look on. `data` of an event `outcomes` has `outcomes`, each with the state of the delivery (`pending`: it is tried again), and `left_out`: how many more there were. At most 20 come at once, five times a second, and a reader that is slow is left out more. Nothing is kept for later: what happened before the connection was made is in the list of deliveries. `data` of an event `changed` names what else has changed, separated by spaces: `applications` (settings, secrets or the endpoint), `subscriptions`, `notices`, `statistics`; `deliveries` where several processes share a database, and another one has sent some, within a second or two; `event-types`; `minute` when a minute of the statistics is over.";
