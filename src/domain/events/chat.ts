import { Type } from "@sinclair/typebox";
import { minute } from "../time.ts";
import { about, Count, closed, Key, nullable, Timestamp, text } from "../validation/fields.ts";
import { eventType } from "./event-type.ts";
import {
  exampleBroadcaster,
  exampleSecondViewer,
  exampleViewer,
  NamedPerson,
  Person,
  withoutIdentity,
} from "./people.ts";

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
