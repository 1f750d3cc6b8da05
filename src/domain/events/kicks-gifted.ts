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
    broadcaster: about(NamedPerson, "The owner of the channel."),
    sender: about(NamedPerson, "The user who gave the gift."),
    gift: closed(
      {
        amount: Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "Number of Kicks.",
        }),
        name: text(100, { description: "Name of the gift." }),
        type: text(50, { description: "Type of the gift." }),
        tier: text(50, { description: "Tier of the gift." }),
        message: text(2000, { description: "Message sent with the gift." }),
        pinned_time_seconds: Type.Optional(
          nullable(Count, {
            description:
              "Seconds for which the message is pinned in the chat; null or absent if it is not pinned.",
          }),
        ),
      },
      { description: "The gift." },
    ),
    created_at: about(Timestamp, "When the gift was given."),
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
