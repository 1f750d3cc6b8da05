import { Type } from "@sinclair/typebox";
import { about, closed, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster } from "./example-people.ts";
import { Person } from "./person.ts";

export const livestreamStatusUpdated = eventType({
  name: "livestream.status.updated",
  version: 1,
  description: "A channel's livestream started or ended.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    is_live: Type.Boolean({ description: "Whether the channel is live now." }),
    title: text(500, { description: "Title of the stream." }),
    started_at: about(Timestamp, "When the stream started."),
    ended_at: nullable(Timestamp, { description: "When the stream ended; null while it is live." }),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    is_live: true,
    title: "Hardcore run, day 12",
    started_at: "2026-01-14T16:08:06Z",
    ended_at: null,
  },
  timeToLiveMs: null,
});
