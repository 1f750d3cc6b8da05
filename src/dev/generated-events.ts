import type { Category } from "../domain/categories.ts";
import { channelFollowed } from "../domain/events/channel-followed.ts";
import { channelRewardRedemptionUpdated } from "../domain/events/channel-reward-redemption-updated.ts";
import { channelSubscriptionGifts } from "../domain/events/channel-subscription-gifts.ts";
import { channelSubscriptionNew } from "../domain/events/channel-subscription-new.ts";
import { channelSubscriptionRenewal } from "../domain/events/channel-subscription-renewal.ts";
import { chatMessageSent } from "../domain/events/chat-message-sent.ts";
import type { EventType } from "../domain/events/event-type.ts";
import { kicksGifted } from "../domain/events/kicks-gifted.ts";
import { livestreamMetadataUpdated } from "../domain/events/livestream-metadata-updated.ts";
import { livestreamStatusUpdated } from "../domain/events/livestream-status-updated.ts";
import { moderationBanned } from "../domain/events/moderation-banned.ts";
import type { Person } from "../domain/events/person.ts";
import type { Livestream, LivestreamInput } from "../domain/livestreams.ts";
import { day, isoTime, minute } from "../domain/time.ts";
import { between, pick, type Random, weighted } from "./chance.ts";
import { newLivestream } from "./livestreams.ts";
import type { SamplePerson } from "./sample-person.ts";

/** The setting of a generated event: one broadcaster's channel at one moment. */
export interface Scene {
  readonly broadcaster: SamplePerson;
  /** null when the broadcaster is not live. */
  readonly live: Livestream | null;
  /** The people who may chat, follow and give; they include more than the broadcaster. */
  readonly people: readonly SamplePerson[];
  readonly categories: readonly Pick<Category, "id" | "name">[];
  /** Pictures for payloads, because sample users and categories have none. */
  readonly pictures: { readonly profile: string; readonly icon: string };
  /** A unique id for a message or redemption. */
  readonly id: string;
  readonly now: number;
  readonly random: Random;
}

/** A generated event: its payload, and the change of the broadcaster's livestream, which is applied first. */
export interface GeneratedEvent {
  readonly data: object;
  readonly livestream?: LivestreamInput | "ended";
}

interface Kind {
  /** The weight of the event against the others. */
  readonly weight: (live: boolean) => number;
  readonly make: (scene: Scene) => GeneratedEvent;
}

/** The type parameter makes the compiler check the payload against the event's schema. */
function kind<Type extends EventType>(
  _type: Type,
  weight: Kind["weight"],
  make: (scene: Scene) => GeneratedEvent & { readonly data: Type["example"] },
): Kind {
  return { weight, make };
}

const month = 30 * day;
const colours = ["#FF5733", "#3FA7D6", "#59CD90", "#FAC05E", "#EE6352", "#B388EB"] as const;

const kindsByName: Readonly<Record<string, Kind>> = {
  [chatMessageSent.name]: kind(
    chatMessageSent,
    () => 60,
    (scene) => {
      const { broadcaster, id, now, random } = scene;
      const sender = somebody(scene);
      const language = random() < 0.7 ? broadcaster.language : sender.language;
      const badges =
        random() < 0.3 ? [{ text: "Subscriber", type: "subscriber", count: between(random, 1, 24) }] : [];
      const identity = { username_color: pick(random, colours), badges };
      return {
        data: {
          message_id: id,
          replies_to: null,
          broadcaster: shown(scene, broadcaster),
          sender: { ...shown(scene, sender), identity },
          content: pick(random, language.chat),
          emotes: [],
          created_at: isoTime(now),
        },
      };
    },
  ),
  [channelFollowed.name]: kind(
    channelFollowed,
    () => 18,
    (scene) => ({
      data: { broadcaster: shown(scene, scene.broadcaster), follower: shown(scene, somebody(scene)) },
    }),
  ),
  [channelSubscriptionNew.name]: kind(
    channelSubscriptionNew,
    () => 6,
    (scene) => ({ data: subscription(scene, 1) }),
  ),
  [channelSubscriptionRenewal.name]: kind(
    channelSubscriptionRenewal,
    () => 5,
    (scene) => ({ data: subscription(scene, between(scene.random, 2, 36)) }),
  ),
  [channelSubscriptionGifts.name]: kind(
    channelSubscriptionGifts,
    () => 4,
    (scene) => {
      const { random } = scene;
      const gifter = shown(scene, somebody(scene));
      const giftees = new Set(Array.from({ length: between(random, 1, 5) }, () => somebody(scene)));
      return {
        data: {
          broadcaster: shown(scene, scene.broadcaster),
          gifter: random() < 0.25 ? anonymous : gifter,
          giftees: [...giftees].map((one) => shown(scene, one)),
          ...oneMonth(scene.now),
        },
      };
    },
  ),
  [channelRewardRedemptionUpdated.name]: kind(
    channelRewardRedemptionUpdated,
    () => 5,
    (scene) => ({
      data: {
        id: scene.id,
        user_input: "The one with the trumpet, please",
        status: pick(scene.random, ["pending", "accepted", "rejected"] as const),
        redeemed_at: isoTime(scene.now),
        reward: {
          id: `reward-${scene.broadcaster.user.id}`,
          title: "Choose the next song",
          cost: 1500,
          description: "Name a song and it plays after this round.",
        },
        redeemer: shown(scene, somebody(scene)),
        broadcaster: shown(scene, scene.broadcaster),
      },
    }),
  ),
  [livestreamStatusUpdated.name]: kind(
    livestreamStatusUpdated,
    // Going live has a high weight, so that a subscribed channel is mostly live.
    (live) => (live ? 2 : 20),
    (scene) => statusChange(scene),
  ),
  [livestreamMetadataUpdated.name]: kind(
    livestreamMetadataUpdated,
    (live) => (live ? 4 : 0),
    (scene) => {
      const { broadcaster, categories, random, pictures, now } = scene;
      const before = scene.live ?? newLivestream(broadcaster, now, random);
      const category = pick(random, categories);
      const title = pick(random, broadcaster.language.titles);
      return {
        livestream: { ...before, title, category_id: category.id },
        data: {
          broadcaster: shown(scene, broadcaster),
          metadata: {
            title,
            language: broadcaster.language.code,
            has_mature_content: false,
            category: { id: category.id, name: category.name, thumbnail: pictures.icon },
          },
        },
      };
    },
  ),
  [moderationBanned.name]: kind(
    moderationBanned,
    () => 2,
    (scene) => ({
      data: {
        broadcaster: shown(scene, scene.broadcaster),
        moderator: shown(scene, scene.broadcaster),
        banned_user: shown(scene, somebody(scene)),
        metadata: {
          reason: "Posting the same link again and again",
          created_at: isoTime(scene.now),
          expires_at: scene.random() < 0.7 ? isoTime(scene.now + 10 * minute) : null,
        },
      },
    }),
  ),
  [kicksGifted.name]: kind(
    kicksGifted,
    () => 5,
    (scene) => ({
      data: {
        broadcaster: shown(scene, scene.broadcaster),
        sender: shown(scene, somebody(scene)),
        gift: {
          amount: pick(scene.random, [10, 50, 100, 500]),
          name: pick(scene.random, ["Paper Plane", "Confetti Storm", "Brass Band"]),
          type: "BASIC",
          tier: "BASIC",
          message: pick(scene.random, ["What a finish!", "For the cat", ""]),
          pinned_time_seconds: null,
        },
        created_at: isoTime(scene.now),
      },
    }),
  ),
};

/** By name. A map, because names come from outside. */
const kinds: ReadonlyMap<string, Kind> = new Map(Object.entries(kindsByName));

/** A subscribed event, and whether its broadcaster is live. */
interface Wanted {
  readonly event: string;
  readonly live: boolean;
}

/** The next event; null when none of them can be generated. */
export function nextEvent<T extends Wanted>(wanted: readonly T[], random: Random): T | null {
  const weight = ({ event, live }: T) => kinds.get(event)?.weight(live) ?? 0;
  return wanted.some((one) => weight(one) > 0) ? weighted(random, wanted, weight) : null;
}

/** Generates an event. Throws a `RangeError` for an event that `nextEvent` never chooses. */
export function generateEvent(event: string, scene: Scene): GeneratedEvent {
  const known = kinds.get(event);
  if (!known) throw new RangeError(`there is no way to make up ${event}`);
  return known.make(scene);
}

/** A livestream that starts or ends. */
function statusChange(scene: Scene) {
  const { broadcaster, live, now, random } = scene;
  const livestream = live ? ("ended" as const) : newLivestream(broadcaster, now, random);
  const { title, started_at } = livestream === "ended" ? (live ?? {}) : livestream;
  return {
    livestream,
    data: {
      broadcaster: shown(scene, broadcaster),
      is_live: live === null,
      title: title ?? "",
      started_at: started_at ?? isoTime(now),
      ended_at: live ? isoTime(now) : null,
    },
  };
}

function subscription(scene: Scene, duration: number) {
  return {
    broadcaster: shown(scene, scene.broadcaster),
    subscriber: shown(scene, somebody(scene)),
    duration,
    ...oneMonth(scene.now),
  };
}

function oneMonth(now: number) {
  return { created_at: isoTime(now), expires_at: isoTime(now + month) };
}

function somebody({ people, broadcaster, random }: Scene): SamplePerson {
  return pick(
    random,
    people.filter((one) => one !== broadcaster),
  );
}

const anonymous = {
  is_anonymous: true,
  user_id: null,
  username: null,
  is_verified: null,
  profile_picture: null,
  channel_slug: null,
  identity: null,
} as const;

function shown({ pictures }: Scene, { user, channel }: SamplePerson): Person {
  return {
    is_anonymous: false,
    user_id: user.id,
    username: user.username,
    is_verified: user.is_verified,
    profile_picture: pictures.profile,
    channel_slug: channel.slug,
    identity: null,
  };
}
