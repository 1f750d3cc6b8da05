import { defaultPictures } from "../api/public/assets.ts";
import type { Category } from "../domain/categories.ts";
import {
  channelFollowed,
  channelRewardRedemptionUpdated,
  channelSubscriptionGifts,
  channelSubscriptionNew,
  channelSubscriptionRenewal,
  chatMessageSent,
  kicksGifted,
  livestreamMetadataUpdated,
  livestreamStatusUpdated,
  moderationBanned,
  type Person,
} from "../domain/events/built-in.ts";
import type { EventType } from "../domain/events/event-type.ts";
import { newId } from "../domain/ids.ts";
import type { Livestream, LivestreamInput } from "../domain/livestreams.ts";
import { day, isoTime, minute, second } from "../domain/time.ts";
import { repeating, type Service } from "../runtime/services.ts";
import type { App } from "../server/start.ts";
import { between, pick, type Random, weighted } from "./chance.ts";
import {
  newLivestream,
  nextToChange,
  nextViewers,
  type SampleData,
  type SamplePerson,
} from "./sample-data.ts";

interface ActivityOptions {
  readonly app: Pick<App, "store" | "data" | "publisher">;
  /** The URL of the public listener. The listener serves the pictures. */
  readonly publicUrl: string;
  readonly sample: SampleData;
  /** Whether to publish events, in addition to changing viewer counts. */
  readonly events: boolean;
  readonly now: () => number;
  readonly random: Random;
}

/** Seconds between two events with a subscriber, and between two changes of a channel's live status. */
const eventEvery = [2, 5] as const;
const changeEvery = [10, 30] as const;

/**
 * Simulates the sample platform: viewer counts change every second, and sample users have events from time to time. The
 * simulation keeps no state: it continues from the store, also after a restart and after changes by other programs.
 */
export function activity({ app, publicUrl, sample, events, now, random }: ActivityOptions): Service {
  const { store, data, publisher } = app;
  const byUser = new Map(sample.people.map((person) => [person.user.id, person]));
  const byChannel = new Map(sample.people.map((person) => [person.channel.id, person]));
  const pictures = defaultPictures(publicUrl);
  let nextEventAt = now();
  let nextChangeAt = now() + between(random, ...changeEvery) * second;

  const sampleStreams = async (): Promise<Map<number, Livestream>> => {
    const live = await store.livestreams.all();
    return new Map(live.filter((one) => byChannel.has(one.channel_id)).map((one) => [one.channel_id, one]));
  };

  const moveViewers = async (live: ReadonlyMap<number, Livestream>): Promise<void> => {
    const moved = [...live.values()].map((stream) => {
      const typical = byChannel.get(stream.channel_id)?.typicalViewers ?? stream.viewers;
      return { ...stream, viewers: nextViewers(stream.viewers, typical, random) };
    });
    await data.livestreams.keep(moved);
  };

  /** Returns the subscribed events of all applications that can be generated. */
  const wanted = async (live: ReadonlyMap<number, Livestream>) => {
    const applications = await store.applications.all();
    const lists = await Promise.all(applications.map(({ id }) => store.subscriptions.ofApplication(id)));
    return lists.flat().flatMap(({ event, broadcaster_user_id }) => {
      const broadcaster = byUser.get(broadcaster_user_id ?? 0);
      return broadcaster ? [{ event, broadcaster, live: live.has(broadcaster.channel.id) }] : [];
    });
  };

  const happen = async (event: string, broadcaster: SamplePerson, live: ReadonlyMap<number, Livestream>) => {
    const scene: Scene = {
      broadcaster,
      live: live.get(broadcaster.channel.id) ?? null,
      people: sample.people,
      categories: sample.categories,
      pictures,
      id: newId(),
      now: now(),
      random,
    };
    const generated = generateEvent(event, scene);
    await change(broadcaster, generated);
    await publisher.publish({
      name: event,
      version: 1,
      broadcaster_user_id: broadcaster.user.id,
      data: generated.data,
    });
  };

  const change = async ({ channel }: SamplePerson, { livestream }: GeneratedEvent): Promise<void> => {
    if (livestream === "ended") await data.end([channel.id]);
    else if (livestream) await data.livestreams.keep([livestream]);
  };

  return repeating("sample platform", second, async () => {
    await moveViewers(await sampleStreams());
    if (!events) return;
    if (now() >= nextEventAt) {
      nextEventAt = now() + between(random, ...eventEvery) * second;
      const live = await sampleStreams();
      const next = nextEvent(await wanted(live), random);
      if (next) await happen(next.event, next.broadcaster, live);
    }
    if (now() >= nextChangeAt) {
      nextChangeAt = now() + between(random, ...changeEvery) * second;
      const live = await sampleStreams();
      await happen("livestream.status.updated", nextToChange(sample.people, live, random), live);
    }
  });
}

/** The context of a generated event: the state of a broadcaster's channel. */
export interface Scene {
  readonly broadcaster: SamplePerson;
  /** The broadcaster's livestream; null when the broadcaster is not live. */
  readonly live: Livestream | null;
  /** The people who can chat, follow and give; at least one other than the broadcaster. */
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
interface GeneratedEvent {
  readonly data: object;
  readonly livestream?: LivestreamInput | "ended";
}

interface Kind {
  /** The relative frequency of the event. */
  readonly weight: (live: boolean) => number;
  readonly make: (scene: Scene) => GeneratedEvent;
}

/** Makes an entry of `kinds`. The type parameter lets the compiler check the payload against the event's schema. */
function kind<Type extends EventType>(
  { name }: Type,
  weight: number | Kind["weight"],
  make: (scene: Scene) => GeneratedEvent & { readonly data: Type["example"] },
): [string, Kind] {
  return [name, { weight: typeof weight === "number" ? () => weight : weight, make }];
}

const month = 30 * day;
const colours = ["#FF5733", "#3FA7D6", "#59CD90", "#FAC05E", "#EE6352", "#B388EB"] as const;

/** The kinds of events by name. This is a map and not an object, because names come from subscriptions. */
const kinds: ReadonlyMap<string, Kind> = new Map([
  kind(chatMessageSent, 60, (scene) => {
    const { broadcaster, id, now, random } = scene;
    const sender = randomViewer(scene);
    const language = random() < 0.7 ? broadcaster.language : sender.language;
    const badges =
      random() < 0.3 ? [{ text: "Subscriber", type: "subscriber", count: between(random, 1, 24) }] : [];
    const identity = { username_color: pick(random, colours), badges };
    const data = {
      message_id: id,
      replies_to: null,
      broadcaster: personOf(scene, broadcaster),
      sender: { ...personOf(scene, sender), identity },
      content: pick(random, language.chat),
      emotes: [],
      created_at: isoTime(now),
    };
    return { data };
  }),
  kind(channelFollowed, 18, (scene) => {
    const { broadcaster } = scene;
    return {
      data: { broadcaster: personOf(scene, broadcaster), follower: personOf(scene, randomViewer(scene)) },
    };
  }),
  kind(channelSubscriptionNew, 6, (scene) => ({ data: subscription(scene, 1) })),
  kind(channelSubscriptionRenewal, 5, (scene) => ({
    data: subscription(scene, between(scene.random, 2, 36)),
  })),
  kind(channelSubscriptionGifts, 4, (scene) => {
    const { broadcaster, random, now } = scene;
    const gifter = personOf(scene, randomViewer(scene));
    const giftees = new Set(Array.from({ length: between(random, 1, 5) }, () => randomViewer(scene)));
    const data = {
      broadcaster: personOf(scene, broadcaster),
      gifter: random() < 0.25 ? anonymous : gifter,
      giftees: [...giftees].map((one) => personOf(scene, one)),
      ...oneMonth(now),
    };
    return { data };
  }),
  kind(channelRewardRedemptionUpdated, 5, (scene) => {
    const { broadcaster, id, now, random } = scene;
    const { example } = channelRewardRedemptionUpdated;
    const data = {
      ...example,
      id,
      status: pick(random, ["pending", "accepted", "rejected"] as const),
      redeemed_at: isoTime(now),
      reward: { ...example.reward, id: `reward-${broadcaster.user.id}` },
      redeemer: personOf(scene, randomViewer(scene)),
      broadcaster: personOf(scene, broadcaster),
    };
    return { data };
  }),
  // Going live has a high weight, so that a subscribed channel is mostly live.
  kind(livestreamStatusUpdated, (live) => (live ? 2 : 20), statusChange),
  kind(
    livestreamMetadataUpdated,
    (live) => (live ? 4 : 0),
    (scene) => {
      const { broadcaster, categories, random, pictures, now } = scene;
      const before = scene.live ?? newLivestream(broadcaster, now, random);
      const { id, name } = pick(random, categories);
      const { code: language, titles } = broadcaster.language;
      const title = pick(random, titles);
      const category = { id, name, thumbnail: pictures.icon };
      const metadata = { title, language, has_mature_content: false, category };
      return {
        livestream: { ...before, title, category_id: id },
        data: { broadcaster: personOf(scene, broadcaster), metadata },
      };
    },
  ),
  kind(moderationBanned, 2, (scene) => {
    const { broadcaster, now, random } = scene;
    const data = {
      broadcaster: personOf(scene, broadcaster),
      moderator: personOf(scene, broadcaster),
      banned_user: personOf(scene, randomViewer(scene)),
      metadata: {
        ...moderationBanned.example.metadata,
        created_at: isoTime(now),
        expires_at: random() < 0.7 ? isoTime(now + 10 * minute) : null,
      },
    };
    return { data };
  }),
  kind(kicksGifted, 5, (scene) => {
    const { broadcaster, now, random } = scene;
    const data = {
      broadcaster: personOf(scene, broadcaster),
      sender: personOf(scene, randomViewer(scene)),
      gift: {
        amount: pick(random, [10, 50, 100, 500]),
        name: pick(random, ["Paper Plane", "Confetti Storm", "Brass Band"]),
        type: "BASIC",
        tier: "BASIC",
        message: pick(random, ["What a finish!", "For the cat", ""]),
        pinned_time_seconds: null,
      },
      created_at: isoTime(now),
    };
    return { data };
  }),
]);

/** A subscribed event, and whether its broadcaster is live. */
interface Wanted {
  readonly event: string;
  readonly live: boolean;
}

/** Chooses the next event; null when none of the wanted events can be generated. */
export function nextEvent<T extends Wanted>(wanted: readonly T[], random: Random): T | null {
  const weight = ({ event, live }: T) => kinds.get(event)?.weight(live) ?? 0;
  return wanted.some((one) => weight(one) > 0) ? weighted(random, wanted, weight) : null;
}

/** Generates an event. Throws a `RangeError` for an event that `nextEvent` never chooses. */
export function generateEvent(event: string, scene: Scene): GeneratedEvent {
  const known = kinds.get(event);
  if (!known) throw new RangeError(`events of type ${event} cannot be generated`);
  return known.make(scene);
}

/** Generates the start or the end of a livestream. */
function statusChange(scene: Scene) {
  const { broadcaster, live, now, random } = scene;
  const livestream = live ? ("ended" as const) : newLivestream(broadcaster, now, random);
  const { title, started_at } = livestream === "ended" ? (live ?? {}) : livestream;
  return {
    livestream,
    data: {
      broadcaster: personOf(scene, broadcaster),
      is_live: live === null,
      title: title ?? "",
      started_at: started_at ?? isoTime(now),
      ended_at: live ? isoTime(now) : null,
    },
  };
}

function subscription(scene: Scene, duration: number) {
  return {
    broadcaster: personOf(scene, scene.broadcaster),
    subscriber: personOf(scene, randomViewer(scene)),
    duration,
    ...oneMonth(scene.now),
  };
}

function oneMonth(now: number) {
  return { created_at: isoTime(now), expires_at: isoTime(now + month) };
}

function randomViewer({ people, broadcaster, random }: Scene): SamplePerson {
  const others = people.filter((one) => one !== broadcaster);
  return pick(random, others);
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

function personOf({ pictures }: Scene, { user, channel }: SamplePerson): Person {
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
