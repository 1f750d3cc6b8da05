import { about, closed, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleSecondViewer, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

export const moderationBanned = eventType({
  name: "moderation.banned",
  version: 1,
  description: "A user was banned from a channel, for a time or for good.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    moderator: about(Person, "The user who banned."),
    banned_user: about(Person, "The user who was banned."),
    metadata: closed(
      {
        reason: text(1000, { description: "Reason for the ban." }),
        created_at: about(Timestamp, "When the user was banned."),
        expires_at: nullable(Timestamp, { description: "When the ban ends; null for a permanent ban." }),
      },
      { description: "Details of the ban." },
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
