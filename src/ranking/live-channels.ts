import type { Livestream } from "../domain/livestreams.ts";
import { isSameOrder, type Order } from "./order.ts";

/** The part of a livestream that the ranking needs. */
export type LiveChannel = Pick<Livestream, "channel_id" | "category_id" | "viewers">;

interface LiveCategory {
  /** The sum of the viewers of its channels. */
  readonly viewers: number;
  readonly channels: readonly LiveChannel[];
}

/** The live channels at one moment. Immutable. */
export interface LiveState {
  readonly order: Order;
  /** The categories with live channels, by id. */
  readonly categories: ReadonlyMap<number, LiveCategory>;
}

export const emptyLiveState: LiveState = {
  order: { takenAt: 0, ids: new Float64Array(), viewers: new Float64Array() },
  categories: new Map(),
};

/** Returns the first live channels of a category: more viewers first, then lower id. */
export function topChannels({ categories }: LiveState, categoryId: number, count: number): LiveChannel[] {
  const channels = categories.get(categoryId)?.channels ?? [];
  return channels.toSorted((a, b) => b.viewers - a.viewers || a.channel_id - b.channel_id).slice(0, count);
}

/** The current live channels. */
export class LiveChannels {
  /** By id. Entries are replaced, not changed, because states that were taken share them. */
  readonly #live = new Map<number, LiveChannel>();
  #hasChanged = false;

  /** Whether anything has changed since the last `take`. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  get ids(): number[] {
    return [...this.#live.keys()];
  }

  /** Adds or updates live channels. */
  put(livestreams: readonly LiveChannel[]): void {
    for (const { channel_id, category_id, viewers } of livestreams) {
      this.#live.set(channel_id, { channel_id, category_id, viewers });
    }
    this.#hasChanged ||= livestreams.length > 0;
  }

  /** Removes live channels. */
  end(channelIds: readonly number[]): void {
    for (const id of channelIds) this.#hasChanged = this.#live.delete(id) || this.#hasChanged;
  }

  /** Counts a change of other data in answers as a change. */
  touch(): void {
    this.#hasChanged = true;
  }

  /** Returns the current state, with the object `before` as its order if the order has not changed. */
  take(before: Order, now: number): LiveState {
    this.#hasChanged = false;
    const categories = new Map<number, { viewers: number; readonly channels: LiveChannel[] }>();
    for (const channel of this.#live.values()) {
      const known = categories.get(channel.category_id);
      if (known) {
        known.viewers += channel.viewers;
        known.channels.push(channel);
      } else categories.set(channel.category_id, { viewers: channel.viewers, channels: [channel] });
    }
    const watched = [...categories]
      .filter(([, { viewers }]) => viewers > 0)
      .sort(([id, one], [otherId, other]) => other.viewers - one.viewers || id - otherId);
    const order: Order = {
      takenAt: Math.max(now, before.takenAt + 1),
      ids: Float64Array.from(watched, ([id]) => id),
      viewers: Float64Array.from(watched, ([, { viewers }]) => viewers),
    };
    return { order: isSameOrder(before, order) ? before : order, categories };
  }
}
