import { pick, type Random } from "../../../src/dev/chance.ts";
import {
  channelFollowed,
  channelSubscriptionNew,
  chatMessageSent,
  kicksGifted,
  livestreamMetadataUpdated,
  livestreamStatusUpdated,
} from "../../../src/domain/events/built-in.ts";

/** The event types that the platform publishes, by number. */
export const types = [
  chatMessageSent,
  channelFollowed,
  livestreamStatusUpdated,
  livestreamMetadataUpdated,
  channelSubscriptionNew,
  kicksGifted,
] as const;

export const typeNames: readonly string[] = types.map(({ name }) => name);
export const [chat, followed, status, metadata, subscribed, gifted] = [0, 1, 2, 3, 4, 5] as const;

/** What filters of applications ask for. A bit of an event's features says whether it matches. */
export const filters = [
  { type: chat, condition: { content: { $startsWith: "!" } }, bit: 1 },
  { type: followed, condition: { follower: { is_verified: true } }, bit: 2 },
  { type: chat, condition: { sender: { identity: { badges: { type: "moderator" } } } }, bit: 4 },
] as const;

/** An event before it is published. */
export interface NewDayEvent {
  readonly type: number;
  /** The id of the broadcaster, who is the channel, too. */
  readonly channel: number;
  /** The bits of the filters that it matches. */
  readonly features: number;
  readonly data: object;
}

/** By hour of the day, from midnight: the rate of events as a multiple of the mean. */
const hours = [
  0.55, 0.4, 0.3, 0.22, 0.2, 0.25, 0.35, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.85, 0.9, 1, 1.15, 1.35, 1.6, 1.9,
  2.3, 2.1, 1.5, 0.9,
];
const meanOfHours = hours.reduce((sum, one) => sum + one, 0) / 24;

/** The rate at an hour, 0 to 24, as a multiple of the day's mean. */
export function shareAt(hour: number): number {
  const [before = 0, after = 0] = [hours[Math.floor(hour) % 24], hours[(Math.floor(hour) + 1) % 24]];
  return (before + (after - before) * (hour % 1)) / meanOfHours;
}

interface Stream {
  readonly from: number;
  readonly to: number;
}

/** A part of all channels streams on a day, a third of them from eight in the evening. */
const streaming = 0.3;
const words = "nice run gg what a play hello from Busan lol first time here love this song".split(" ");
const commands = ["!uptime", "!so LunaBytes", "!help", "!song next"];

/** Channels that go live and end, and what is said and given there. */
export class Channels {
  /** Ids of channels that are live, those with the most viewers first. */
  live: number[] = [];
  readonly #streams: ReadonlyMap<number, Stream>;
  readonly #isLive = new Set<number>();
  #raid: { readonly channel: number; readonly until: number } | null = null;
  #made = 0;

  constructor(
    readonly count: number,
    private readonly random: Random,
  ) {
    const streams = new Map<number, Stream>();
    for (let id = 1; id <= count; id++) {
      if (random() >= streaming) continue;
      // The first minutes after eight.
      const from = random() < 1 / 3 ? 20 + random() * 0.1 : random() * 26 - 3;
      streams.set(id, { from, to: Math.min(24, from + 1.5 + random() * 3.5) });
    }
    this.#streams = streams;
  }

  /** The events of channels that have gone live or ended since the last call. */
  changesUntil(hour: number): NewDayEvent[] {
    const events: NewDayEvent[] = [];
    for (const [id, { from, to }] of this.#streams) {
      const isLive = from <= hour && hour < to;
      if (isLive === this.#isLive.has(id)) continue;
      if (isLive) this.#isLive.add(id);
      else this.#isLive.delete(id);
      const data = {
        broadcaster: person(id),
        is_live: isLive,
        title: `The stream of channel ${id}`,
        started_at: new Date().toISOString(),
        ended_at: isLive ? null : new Date().toISOString(),
      };
      events.push({ type: status, channel: id, features: 0, data });
    }
    if (events.length > 0) this.live = [...this.#isLive].sort((a, b) => a - b);
    return events;
  }

  /** What viewers do: chat most of all, on channels with many viewers most of all. */
  next(hour: number): NewDayEvent | null {
    const { random, live } = this;
    const isRaided = this.#raid !== null && hour < this.#raid.until;
    const channel =
      isRaided && random() < 0.7 ? this.#raid?.channel : live[Math.floor(live.length * random() ** 3)];
    if (channel === undefined) return null;
    const kind = isRaided ? 0 : random();
    const viewer = person(1 + Math.floor(random() * this.count));
    const broadcaster = person(channel);
    if (kind < 0.78) return this.#chat(channel, viewer);
    if (kind < 0.9) {
      const follower = { ...viewer, is_verified: random() < 0.2 };
      return {
        type: followed,
        channel,
        features: follower.is_verified ? 2 : 0,
        data: { broadcaster, follower },
      };
    }
    if (kind < 0.93)
      return {
        type: subscribed,
        channel,
        features: 0,
        data: { ...types[subscribed].example, broadcaster, subscriber: viewer },
      };
    if (kind < 0.97)
      return {
        type: gifted,
        channel,
        features: 0,
        data: { ...types[gifted].example, broadcaster, sender: viewer },
      };
    return { type: metadata, channel, features: 0, data: { ...types[metadata].example, broadcaster } };
  }

  /** From now until `until`, in hours, one of the larger channels gets most of all events. */
  raid(until: number): void {
    const { live, random } = this;
    const channel = live[Math.floor((live.length / 10) * random())];
    if (channel !== undefined) this.#raid = { channel, until };
  }

  #chat(channel: number, viewer: ReturnType<typeof person>): NewDayEvent {
    const { random } = this;
    const isCommand = random() < 0.02;
    const isModerator = random() < 0.05;
    const badges = isModerator ? [{ text: "Moderator", type: "moderator" }] : [];
    const text = Array.from({ length: 3 + Math.floor(random() * 12) }, () => pick(random, words)).join(" ");
    return {
      type: chat,
      channel,
      features: (isCommand ? 1 : 0) | (isModerator ? 4 : 0),
      data: {
        message_id: `message-${++this.#made}`,
        replies_to: null,
        broadcaster: person(channel),
        sender: { ...viewer, identity: { username_color: "#3FA7D6", badges } },
        content: isCommand ? pick(random, commands) : text,
        emotes: [],
        created_at: new Date().toISOString(),
      },
    };
  }
}

export const usernameOf = (id: number) => `streamer_${id}`;

function person(id: number) {
  return {
    is_anonymous: false as const,
    user_id: id,
    username: usernameOf(id),
    is_verified: id <= 50,
    profile_picture: "",
    channel_slug: usernameOf(id).replaceAll("_", "-"),
    identity: null,
  };
}
