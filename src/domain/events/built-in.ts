import { type Static, Type } from "@sinclair/typebox";
import { exampleCategory, exampleChannel, exampleUser } from "../examples.ts";
import { minute } from "../time.ts";
import { usernameForm } from "../users.ts";
import { about, Count, closed, Id, Key, nullable, Timestamp, text, Url } from "../validation/fields.ts";
import { type EventType, eventType } from "./event-type.ts";

/*
 * The built-in event types: the people in their payloads, each type with its schema and example, and the list of all.
 */

const Badge = closed({
  text: text(100, { description: "Text of the badge." }),
  type: Type.String({
    minLength: 1,
    maxLength: 50,
    description: "Type of the badge, for example `moderator`.",
  }),
  count: Type.Optional(about(Count, "Count of the badge, for example months of a subscription.")),
});

const Identity = closed(
  {
    username_color: Type.String({
      pattern: "^#[0-9A-Fa-f]{6}$",
      errorMessage: "must be a colour like #FF5733",
      description: "Colour of the username.",
    }),
    badges: Type.Array(Badge, { maxItems: 50, description: "Badges shown before the username." }),
  },
  { description: "How the person appears in this channel's chat." },
);

const named = {
  user_id: about(Id, "Id of the user."),
  username: Type.String({ ...usernameForm, description: "Username of the user." }),
  is_verified: Type.Boolean({ description: "Whether the platform has verified the user." }),
  profile_picture: about(Url, 'URL of the profile picture; "" for none.'),
  channel_slug: text(100, { description: "Slug of the user's channel." }),
};

/** A named person. `is_anonymous` must be false, so that no anonymous person is named by mistake. */
export const Person = closed({
  is_anonymous: Type.Literal(false, { description: "Always false: the person is named." }),
  ...named,
  identity: nullable(Identity, { description: "Appearance in chat; null outside of chat." }),
});
export type Person = Static<typeof Person>;

/** A person in events without anonymous people. Fields that the platform omits are omitted in deliveries. */
const NamedPerson = closed({
  is_anonymous: Type.Optional(Type.Literal(false, { description: "Always false: the person is named." })),
  ...named,
  identity: Type.Optional(nullable(Identity, { description: "Appearance in chat; null outside of chat." })),
});
type NamedPerson = Static<typeof NamedPerson>;

const hidden = Type.Null({ description: "Always null." });

/** An anonymous person: everything but `is_anonymous` is null. */
const AnonymousPerson = closed({
  is_anonymous: Type.Literal(true, { description: "Always true: the person is anonymous." }),
  user_id: hidden,
  username: hidden,
  is_verified: hidden,
  profile_picture: hidden,
  channel_slug: hidden,
  identity: hidden,
});

/** A named or an anonymous person, told apart by `is_anonymous`. */
const PossiblyAnonymousPerson = Type.Union([Person, AnonymousPerson]);

/** The broadcaster of the examples. */
const exampleBroadcaster: Person = {
  is_anonymous: false,
  user_id: exampleUser.id,
  username: exampleUser.username,
  is_verified: exampleUser.is_verified,
  profile_picture: `https://images.example.com/users/${exampleUser.id}/picture.webp`,
  channel_slug: exampleChannel.slug,
  identity: null,
};

/** The viewer of the examples, who follows, chats, subscribes and gives. */
const exampleViewer: Person = {
  is_anonymous: false,
  user_id: 1195,
  username: "ninja_fox",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1195/picture.webp",
  channel_slug: "ninja-fox",
  identity: null,
};

/** The second viewer of the examples, who gets replies and gifts, and moderates. */
const exampleSecondViewer: Person = {
  is_anonymous: false,
  user_id: 1098,
  username: "haneul",
  is_verified: true,
  profile_picture: "https://images.example.com/users/1098/picture.webp",
  channel_slug: "haneul",
  identity: null,
};

/** Returns a person without `is_anonymous` and `identity`, for events whose people have neither field. */
function withoutIdentity({ is_anonymous, identity, ...person }: Person): NamedPerson {
  return person;
}

/** The most characters of a chat message: enough for 500 characters with emotes in the form `[emote:id:name]`. */
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

export const channelFollowed = eventType({
  name: "channel.followed",
  version: 1,
  description: "A user started to follow a channel.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    follower: about(Person, "The user who follows the channel."),
  }),
  example: { broadcaster: exampleBroadcaster, follower: exampleViewer },
  timeToLiveMs: null,
});

/** The payload of a new or renewed subscription. */
const SubscriptionPeriod = closed({
  broadcaster: about(Person, "The owner of the channel."),
  subscriber: about(Person, "The user who subscribed."),
  duration: Type.Integer({
    minimum: 1,
    maximum: 1200,
    description: "Number of months for which the user has subscribed.",
  }),
  created_at: about(Timestamp, "When this period began."),
  expires_at: about(Timestamp, "When this period ends."),
});

export const channelSubscriptionNew = eventType({
  name: "channel.subscription.new",
  version: 1,
  description: "A user subscribed to a channel for the first time.",
  payload: SubscriptionPeriod,
  example: {
    broadcaster: exampleBroadcaster,
    subscriber: exampleViewer,
    duration: 1,
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});

export const channelSubscriptionRenewal = eventType({
  name: "channel.subscription.renewal",
  version: 1,
  description: "A user's subscription to a channel was renewed.",
  payload: SubscriptionPeriod,
  example: {
    broadcaster: exampleBroadcaster,
    subscriber: exampleViewer,
    duration: 7,
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});

export const channelSubscriptionGifts = eventType({
  name: "channel.subscription.gifts",
  version: 1,
  description: "A user, who may stay anonymous, gave subscriptions to a channel to others.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    gifter: about(PossiblyAnonymousPerson, "The user who gave the subscriptions."),
    giftees: Type.Array(Person, {
      minItems: 1,
      maxItems: 1000,
      description: "The users who received a subscription.",
    }),
    created_at: about(Timestamp, "When the subscriptions were given."),
    expires_at: about(Timestamp, "When the subscriptions end."),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    gifter: exampleViewer,
    giftees: [exampleSecondViewer],
    created_at: "2026-01-14T16:08:06Z",
    expires_at: "2026-02-14T16:08:06Z",
  },
  timeToLiveMs: null,
});

export const channelRewardRedemptionUpdated = eventType({
  name: "channel.reward.redemption.updated",
  version: 1,
  description: "A channel reward was redeemed, or its redemption was accepted or rejected.",
  payload: closed({
    id: about(Key, "Id of the redemption."),
    user_input: text(2000, { description: 'Text entered by the redeemer; "" if the reward asks for none.' }),
    status: Type.Union([Type.Literal("pending"), Type.Literal("accepted"), Type.Literal("rejected")], {
      description: "State of the redemption.",
    }),
    redeemed_at: about(Timestamp, "When the reward was redeemed."),
    reward: closed(
      {
        id: about(Key, "Id of the reward."),
        title: text(200, { description: "Title of the reward." }),
        cost: about(Count, "Price of the reward in channel points."),
        description: text(2000, { description: "Description of the reward." }),
      },
      { description: "The redeemed reward." },
    ),
    redeemer: about(NamedPerson, "The user who redeemed the reward."),
    broadcaster: about(NamedPerson, "The owner of the channel."),
  }),
  example: {
    id: "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
    user_input: "The one with the trumpet, please",
    status: "accepted",
    redeemed_at: "2026-01-14T16:08:06.412Z",
    reward: {
      id: "01KEYMZ5W1C8PNA2J4S0YQ7TKE",
      title: "Choose the next song",
      cost: 1500,
      description: "Name a song and it plays after this round.",
    },
    redeemer: withoutIdentity(exampleViewer),
    broadcaster: withoutIdentity(exampleBroadcaster),
  },
  timeToLiveMs: null,
});

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

export const livestreamMetadataUpdated = eventType({
  name: "livestream.metadata.updated",
  version: 1,
  description: "The title, language, category or maturity of a channel's livestream changed.",
  payload: closed({
    broadcaster: about(Person, "The owner of the channel."),
    metadata: closed(
      {
        title: text(500, { description: "Title of the stream." }),
        language: text(50, { description: "Language of the stream." }),
        has_mature_content: Type.Boolean({ description: "Whether the stream is for adults only." }),
        category: closed(
          {
            id: about(Id, "Id of the category."),
            name: text(200, { description: "Name of the category." }),
            thumbnail: about(Url, 'URL of an image of the category; "" for none.'),
          },
          { description: "Category of the stream." },
        ),
      },
      { description: "The new metadata of the stream." },
    ),
  }),
  example: {
    broadcaster: exampleBroadcaster,
    metadata: {
      title: "Hardcore run, day 12: the frozen caves",
      language: "en",
      has_mature_content: false,
      category: {
        id: exampleCategory.id,
        name: exampleCategory.name,
        thumbnail: `https://images.example.com/categories/${exampleCategory.id}/thumbnail.webp`,
      },
    },
  },
  timeToLiveMs: null,
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

/** The built-in event types, in the order of lists. */
export const builtInEventTypes: readonly EventType[] = [
  chatMessageSent,
  channelFollowed,
  channelSubscriptionNew,
  channelSubscriptionRenewal,
  channelSubscriptionGifts,
  channelRewardRedemptionUpdated,
  livestreamStatusUpdated,
  livestreamMetadataUpdated,
  moderationBanned,
  kicksGifted,
];

/** The names of the built-in event types. */
export const builtInEventNames: readonly string[] = builtInEventTypes.map(({ name }) => name);

/** The built-in type of exactly this name and version. */
export function findEventType(name: string, version: number): EventType | undefined {
  return builtInEventTypes.find((type) => type.name === name && type.version === version);
}
