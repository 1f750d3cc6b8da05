import { Type } from "@sinclair/typebox";
import { about, Count, closed, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleViewer, withoutIdentity } from "./example-people.ts";
import { NamedPerson } from "./person.ts";

export const kicksGifted = eventType({
  name: "kicks.gifted",
  version: 1,
  description: "A user gave Kicks to a channel.",
  payload: closed({
    broadcaster: about(NamedPerson, "Whose channel it is."),
    sender: about(NamedPerson, "Who gives."),
    gift: closed(
      {
        amount: Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "How many kicks.",
        }),
        name: text(100, { description: "What the gift is called." }),
        type: text(50, { description: "Its kind." }),
        tier: text(50, { description: "Its tier." }),
        message: text(2000, { description: "What was written with it." }),
        pinned_time_seconds: Type.Optional(
          nullable(Count, {
            description: "How long the message stays pinned in the chat; null or absent if it is not pinned.",
          }),
        ),
      },
      { description: "What is given." },
    ),
    created_at: about(Timestamp, "When it was given."),
  }),
  example: {
    broadcaster: withoutIdentity(exampleBroadcaster),
    sender: withoutIdentity(exampleViewer),
    gift: {
      amount: 500,
      name: "Confetti Storm",
      type: "LEVEL_UP",
      tier: "MID",
      message: "What a finish!",
      pinned_time_seconds: 600,
    },
    created_at: "2026-01-14T16:08:06.634Z",
  },
  timeToLiveMs: null,
});
