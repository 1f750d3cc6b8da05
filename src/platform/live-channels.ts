import type { Livestream } from "../domain/livestreams.ts";

/** A position in an order: the last category that a client has seen. */
export interface Position {
  readonly viewers: number;
  readonly id: number;
}

/**
 * The order of categories at one time. It lists those with viewers: more viewers first, then lower id. All others
 * follow by id and are not listed. Immutable; 16 bytes for each listed category.
 */
export interface Order {
  /** Milliseconds since the epoch; unique in the process. */
  readonly takenAt: number;
  readonly ids: Float64Array;
  /** The viewers of the category at the same index of `ids`; above 0. */
  readonly viewers: Float64Array;
}

/** Whether two orders are equal. */
function isSameOrder(a: Order, b: Order): boolean {
  return (
    a.ids.length === b.ids.length &&
    a.ids.every((id, i) => id === b.ids[i]) &&
    a.viewers.every((count, i) => count === b.viewers[i])
  );
}

/** Returns the index of the first listed category after a position. The category of the position need not be listed. */
export function indexAfter({ ids, viewers }: Order, position: Position): number {
  return firstIndex(ids.length, (i) => {
    const [theirs = 0, id = 0] = [viewers[i], ids[i]];
    return theirs < position.viewers || (theirs === position.viewers && id > position.id);
  });
}

/** Returns the first index at which `holds` is true, or `length`. It must be true for all following indexes, too. */
export function firstIndex(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

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
