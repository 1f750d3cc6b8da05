import { Type } from "@sinclair/typebox";
import { minute } from "../time.ts";
import { about, Count, closed, Key, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import { exampleBroadcaster, exampleSecondViewer, exampleViewer } from "./example-people.ts";
import { Person } from "./person.ts";

/** Enough for a message of 500 characters with emotes in the form `[emote:id:name]`. */
const longestContent = 10_000;

const repliedTo = closed({
  message_id: about(Key, "Id of the message."),
  content: text(longestContent, { description: "Text of the message." }),
  sender: about(Person, "The author of the message."),
});

export const chatMessageSent = eventType({
  name: "chat.message.sent",
  version: 1,
  description: "A user sent a message to a channel's chat.",
  payload: closed({
    message_id: about(Key, "Id of the message."),
    replies_to: Type.Optional(
      nullable(repliedTo, {
        description: "The message that this one replies to; null or absent if it is not a reply.",
      }),
    ),
    broadcaster: about(Person, "The owner of the channel."),
    sender: about(Person, "The author of the message."),
    content: text(longestContent, { description: "Text of the message." }),
    emotes: Type.Array(
      closed({
        emote_id: about(Key, "Id of the emote."),
        positions: Type.Array(
          closed(
            {
              s: about(Count, "Index of the first character."),
              e: about(Count, "Index of the last character."),
            },
            { description: "One occurrence of the emote in `content`." },
          ),
          { minItems: 1, maxItems: 500, description: "Occurrences of the emote." },
        ),
      }),
      { maxItems: 500, description: "The emotes in the message." },
    ),
    created_at: about(Timestamp, "When the message was sent."),
  }),
  example: {
    message_id: "7c2f1a90-3d84-4b0e-9a57-1f6f0f5b8e21",
    replies_to: {
      message_id: "0b9e6d53-52a1-4c5e-8f1d-6a1d3c7f4b10",
      content: "Did she beat the boss yet?",
      sender: exampleSecondViewer,
    },
    broadcaster: exampleBroadcaster,
    sender: {
      ...exampleViewer,
      identity: {
        username_color: "#3FA7D6",
        badges: [
          { text: "Moderator", type: "moderator" },
          { text: "Subscriber", type: "subscriber", count: 7 },
        ],
      },
    },
    content: "Third try [emote:30817:gg] and a new record [emote:30817:gg]",
    emotes: [
      {
        emote_id: "30817",
        positions: [
          { s: 10, e: 25 },
          { s: 44, e: 59 },
        ],
      },
    ],
    created_at: "2026-01-14T16:08:06Z",
  },
  timeToLiveMs: 10 * minute,
});
