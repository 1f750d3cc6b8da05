import { type Static, Type } from "@sinclair/typebox";
import { closed, nullable, Timestamp, text } from "../fields.ts";
import type { EventType } from "./event-type.ts";
import { exampleBroadcaster } from "./example-people.ts";
import { Person } from "./person.ts";

const payload = closed({
  broadcaster: Person,
  is_live: Type.Boolean(),
  title: text(500),
  started_at: Timestamp,
  ended_at: nullable(Timestamp, { description: "Null while the stream is live." }),
});

export type LivestreamStatusUpdated = Static<typeof payload>;

export const livestreamStatusUpdated: EventType<typeof payload> = {
  name: "livestream.status.updated",
  version: 1,
  description: "A channel's livestream started or ended.",
  payload,
  example: {
    broadcaster: exampleBroadcaster,
    is_live: true,
    title: "Hardcore run, day 12",
    started_at: "2026-01-14T16:08:06Z",
    ended_at: null,
  },
  timeToLiveMs: null,
};
