import type { Livestream } from "../domain/livestreams.ts";
import { isSameOrder, type Order } from "./order.ts";

/** The part of a livestream that the ranking needs. */
export type LiveChannel = Pick<Livestream, "channel_id" | "category_id" | "viewers">;

/** The live channels by category at one moment. Immutable. */
interface StandingsData {
  readonly order: Order;
  /** Categories with live channels: those of the order, then those without viewers. */
  readonly categories: Float64Array;
  /** The first channel of the category at the same index; one more entry for the end of the last. */
  readonly starts: Uint32Array;
  readonly channels: Float64Array;
  /** The viewers of the channel at the same index. */
  readonly viewers: Float64Array;
}

/** Queries on `StandingsData`. */
export class Standings {
  #indexes: Map<number, number> | null = null;

  constructor(readonly data: StandingsData) {}

  get order(): Order {
    return this.data.order;
  }

  viewersOf(categoryId: number): number {
    return this.order.viewers[this.#indexOf(categoryId)] ?? 0;
  }

  /** The live channels of a category, more viewers first, then lower id. */
  topChannels(categoryId: number, count: number): LiveChannel[] {
    const { starts, channels, viewers } = this.data;
    const at = this.#indexOf(categoryId);
    const live: LiveChannel[] = [];
    for (let i = starts[at] ?? 0; i < (starts[at + 1] ?? 0); i++) {
      live.push({ channel_id: channels[i] ?? 0, category_id: categoryId, viewers: viewers[i] ?? 0 });
    }
    return live.sort(mostWatched).slice(0, count);
  }

  /** -1 for a category without live channels. */
  #indexOf(categoryId: number): number {
    this.#indexes ??= indexesOf(this.data.categories);
    return this.#indexes.get(categoryId) ?? -1;
  }
}

function indexesOf(ids: Float64Array): Map<number, number> {
  const indexes = new Map<number, number>();
  for (let i = 0; i < ids.length; i++) indexes.set(ids[i] ?? 0, i);
  return indexes;
}

const mostWatched = (a: LiveChannel, b: LiveChannel) => b.viewers - a.viewers || a.channel_id - b.channel_id;

/** Standings without live channels. */
export function emptyStandings(): Standings {
  const none = () => new Float64Array();
  const order = { takenAt: 0, ids: none(), viewers: none() };
  return new Standings({
    order,
    categories: none(),
    starts: new Uint32Array(1),
    channels: none(),
    viewers: none(),
  });
}

/** A live channel with the slot of its category. */
interface Live extends LiveChannel {
  readonly slot: number;
}

/** The current live channels, from which standings are taken. */
export class LiveChannels {
  readonly #live = new Map<number, Live>();
  readonly #slots = new Map<number, number>();
  /** By slot. */
  readonly #categories: number[] = [];
  #hasChanged = false;

  /** Whether anything has changed since the last standings. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  get ids(): number[] {
    return [...this.#live.keys()];
  }

  put(livestreams: readonly LiveChannel[]): void {
    for (const { channel_id, category_id, viewers } of livestreams) {
      this.#live.set(channel_id, { channel_id, category_id, viewers, slot: this.#slotOf(category_id) });
    }
    this.#hasChanged ||= livestreams.length > 0;
  }

  end(channelIds: readonly number[]): void {
    for (const id of channelIds) this.#hasChanged = this.#live.delete(id) || this.#hasChanged;
  }

  /** Counts as a change: other data in answers has changed. */
  touch(): void {
    this.#hasChanged = true;
  }

  #slotOf(categoryId: number): number {
    const known = this.#slots.get(categoryId);
    if (known !== undefined) return known;
    this.#slots.set(categoryId, this.#categories.length);
    return this.#categories.push(categoryId) - 1;
  }

  /**
   * Takes the current standings, with the order of `before` when it is still the same. Each channel stores the slot of
   * its category, which saves a look-up for each.
   */
  take(before: Order | null, now: number): StandingsData {
    this.#hasChanged = false;
    const { viewers, channels } = this.#totals();
    const viewersOf = (slot: number) => viewers[slot] ?? 0;
    const idOf = (slot: number) => this.#categories[slot] ?? 0;
    const slots: number[] = [];
    for (let slot = 0; slot < channels.length; slot++) if (channels[slot] !== 0) slots.push(slot);
    slots.sort((a, b) => viewersOf(b) - viewersOf(a) || idOf(a) - idOf(b));
    const unwatchedAt = slots.findIndex((slot) => viewersOf(slot) === 0);
    const watched = unwatchedAt === -1 ? slots : slots.slice(0, unwatchedAt);
    const order: Order = {
      takenAt: before ? Math.max(now, before.takenAt + 1) : now,
      ids: Float64Array.from(watched.map(idOf)),
      viewers: Float64Array.from(watched.map(viewersOf)),
    };
    return {
      order: before && isSameOrder(before, order) ? before : order,
      categories: Float64Array.from(slots.map(idOf)),
      ...this.#channelsBy(slots, channels),
    };
  }

  /** Sums by slot. */
  #totals(): { viewers: Float64Array; channels: Uint32Array } {
    const viewers = new Float64Array(this.#categories.length);
    const channels = new Uint32Array(this.#categories.length);
    for (const channel of this.#live.values()) {
      viewers[channel.slot] = (viewers[channel.slot] ?? 0) + channel.viewers;
      channels[channel.slot] = (channels[channel.slot] ?? 0) + 1;
    }
    return { viewers, channels };
  }

  /** @param counts the number of channels of each slot */
  #channelsBy(
    slots: readonly number[],
    counts: Uint32Array,
  ): Pick<StandingsData, "starts" | "channels" | "viewers"> {
    const starts = new Uint32Array(slots.length + 1);
    const next = new Uint32Array(counts.length);
    for (const [i, slot] of slots.entries()) {
      next[slot] = starts[i] ?? 0;
      starts[i + 1] = (starts[i] ?? 0) + (counts[slot] ?? 0);
    }
    const channels = new Float64Array(this.#live.size);
    const viewers = new Float64Array(this.#live.size);
    for (const channel of this.#live.values()) {
      const at = next[channel.slot] ?? 0;
      next[channel.slot] = at + 1;
      channels[at] = channel.channel_id;
      viewers[at] = channel.viewers;
    }
    return { starts, channels, viewers };
  }
}
