import { about, closed, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleSecondViewer, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

export const moderationBanned = eventType({
  name: "moderation.banned",
  version: 1,
  description: "A user was banned from a channel, for a time or for good.",
  payload: closed({
    broadcaster: about(Person, "Whose channel it is."),
    moderator: about(Person, "Who banned."),
    banned_user: about(Person, "Who was banned."),
    metadata: closed(
      {
        reason: text(1000, { description: "Why." }),
        created_at: about(Timestamp, "When it was."),
        expires_at: nullable(Timestamp, { description: "Null if the ban does not end." }),
      },
      { description: "What is told of the ban." },
    ),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    moderator: exampleSecondViewer,
    banned_user: exampleViewer,
    metadata: {
      reason: "Posting the same link again and again",
      created_at: "2026-01-14T16:08:06Z",
      expires_at: "2026-01-14T16:18:06Z",
    },
  },
  timeToLiveMs: null,
});
