import { LRUCache } from "lru-cache";
import type { Category } from "../domain/categories.ts";
import type { Livestream } from "../domain/livestreams.ts";
import { fold } from "../domain/text.ts";
import { once } from "../runtime/lazily.ts";

/*
 * The live order of categories, its snapshots, and the orders of the last minutes, so that walks through pages go on.
 */

/** A position in an order: the last category that a client has seen. */
interface Position {
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
function indexAfter({ ids, viewers }: Order, position: Position): number {
  return firstIndex(ids.length, (i) => {
    const [theirs = 0, id = 0] = [viewers[i], ids[i]];
    return theirs < position.viewers || (theirs === position.viewers && id > position.id);
  });
}

/** Returns the first index at which `holds` is true, or `length`. It must be true for all following indexes, too. */
function firstIndex(length: number, holds: (index: number) => boolean): number {
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
type LiveChannel = Pick<Livestream, "channel_id" | "category_id" | "viewers">;

interface LiveCategory {
  /** The sum of the viewers of the category's channels, at most 2^53-1. */
  readonly viewers: number;
  readonly channels: readonly LiveChannel[];
}

/** The live channels at one time. Immutable. */
interface LiveState {
  readonly order: Order;
  /** The categories with live channels, by id. */
  readonly categories: ReadonlyMap<number, LiveCategory>;
}

export const emptyLiveState: LiveState = {
  order: { takenAt: 0, ids: new Float64Array(), viewers: new Float64Array() },
  categories: new Map(),
};

/** Returns the first live channels of a category: more viewers first, then lower id. */
function topChannels({ categories }: LiveState, categoryId: number, count: number): LiveChannel[] {
  const channels = categories.get(categoryId)?.channels ?? [];
  return byViewers(channels).slice(0, count);
}

const byViewers = (channels: readonly LiveChannel[]) =>
  channels.toSorted((a, b) => b.viewers - a.viewers || a.channel_id - b.channel_id);

/** The current live channels. */
class LiveChannels {
  /** By id. Entries are replaced, not changed, because states that were taken share them. */
  readonly #live = new Map<number, LiveChannel>();
  #hasChanged = false;

  /** Whether anything has changed since the last `take`. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  find(channelId: number): LiveChannel | undefined {
    return this.#live.get(channelId);
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
        known.viewers = Math.min(known.viewers + channel.viewers, Number.MAX_SAFE_INTEGER);
        known.channels.push(channel);
      } else categories.set(channel.category_id, { viewers: channel.viewers, channels: [channel] });
    }
    const watched = [...categories]
      .filter(([, { viewers }]) => viewers > 0)
      .sort(([idA, a], [idB, b]) => b.viewers - a.viewers || idA - idB);
    const order: Order = {
      takenAt: Math.max(now, before.takenAt + 1),
      ids: Float64Array.from(watched, ([id]) => id),
      viewers: Float64Array.from(watched, ([, { viewers }]) => viewers),
    };
    return { order: isSameOrder(before, order) ? before : order, categories };
  }
}

/** Orders that several servers share, so that a pagination that began at one of them continues at another. */
export interface OrderExchange {
  /** Stores an order. If that fails, paginations with it continue at this server only. */
  share(order: Order): Promise<void>;
  /** Returns the order taken at `takenAt`; null if it is not stored. */
  find(takenAt: number): Promise<Order | null>;
}

export interface RankedCategory {
  readonly category: Category;
  /** The name without case and diacritics, for comparison. */
  readonly foldedName: string;
  readonly viewers: number;
}

/** All categories at one time. Immutable, so that answers made from it can be cached for it. */
export interface Snapshot {
  readonly order: Order;
  category(id: number): RankedCategory | undefined;
  /** Returns the first live channels of a category: more viewers first, then lower id. */
  topChannels(categoryId: number, count: number): LiveChannel[];
  /** Returns the live channels of a category, or all with null: more viewers first, then lower id. */
  liveChannels(categoryId: number | null): readonly LiveChannel[];
  /** Returns the number of live channels of a category. */
  liveCount(categoryId: number): number;
}

/** The shortest time between two snapshots. A snapshot is at most this much behind. */
const refreshMs = 1_000;

type Known = Omit<RankedCategory, "viewers">;

const ranked = ({ category, foldedName }: Known, viewers: number): RankedCategory => {
  return { category, foldedName, viewers };
};

/** The live order of all categories, in memory. It is loaded from the store at start. */
export class Ranking {
  readonly #categories = new Map<number, Known>();
  /** The ids of all categories, ascending; null after a change. */
  #ids: readonly number[] | null = null;
  readonly #live = new LiveChannels();
  #liveState = emptyLiveState;
  #snapshot: Snapshot | null = null;
  #takenAt = Number.NEGATIVE_INFINITY;
  #handedOutAt = 0;
  readonly #pastOrders = new PastOrders();
  #changed = (): void => {};

  constructor(
    readonly now: () => number,
    /** The orders that replicas share; null without replicas. */
    readonly sharedOrders: OrderExchange | null = null,
  ) {}

  /** Sets the listener that is called after changes, which `current` shows within `refreshMs`. */
  onChanged(listener: () => void): void {
    this.#changed = listener;
  }

  /** Adds or updates categories. `current` shows it at once. */
  putCategories(categories: readonly Category[]): void {
    for (const category of categories) {
      this.#categories.set(category.id, { category, foldedName: fold(category.name) });
    }
    this.#categoriesChanged(categories.length);
  }

  /** Removes categories, also those with live channels. `current` shows it at once. */
  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    this.#categoriesChanged(ids.length);
  }

  /** Adds or updates livestreams. `current` shows it within `refreshMs`. */
  putLive(livestreams: readonly LiveChannel[]): void {
    this.#live.put(livestreams);
    this.#changed();
  }

  endLive(channelIds: readonly number[]): void {
    this.#live.end(channelIds);
    this.#changed();
  }

  /** Invalidates the snapshot after a change of other data in answers, such as a channel's name. */
  touch(): void {
    this.#live.touch();
    this.#changed();
  }

  /** The ids of all categories, ascending. */
  categoryIds(): readonly number[] {
    this.#ids ??= [...this.#categories.keys()].sort((a, b) => a - b);
    return this.#ids;
  }

  /** Returns a channel with its current viewers if it is live. */
  liveChannel(channelId: number): LiveChannel | undefined {
    return this.#live.find(channelId);
  }

  liveChannelIds(): number[] {
    return this.#live.ids;
  }

  #categoriesChanged(count: number): void {
    if (count === 0) return;
    this.#ids = null;
    this.#snapshot = null;
    this.#changed();
  }

  current(): Snapshot {
    const now = this.now();
    if (this.#live.hasChanged && Math.abs(now - this.#takenAt) >= refreshMs) this.#takeLiveState(now);
    this.#handedOutAt = now;
    this.#snapshot ??= this.#takeSnapshot(this.#liveState);
    return this.#snapshot;
  }

  #takeLiveState(now: number): void {
    const { order: before } = this.#liveState;
    this.#liveState = this.#live.take(before, this.#uniqueTime(now));
    if (this.#liveState.order !== before) this.#pastOrders.add(before, this.#handedOutAt, now);
    this.#takenAt = now;
    this.#snapshot = null;
  }

  /** Returns a time for an order that no other replica uses: with a random fraction of a millisecond. */
  #uniqueTime(now: number): number {
    return this.sharedOrders ? now + Math.floor(Math.random() * 4_096) / 4_096 : now;
  }

  /** Stores an order, so that a pagination can continue on any replica. */
  async share(order: Order): Promise<void> {
    await this.sharedOrders?.share(order);
  }

  /**
   * Returns the order taken at `takenAt`, with which a pagination began. If it has been dropped (see `PastOrders`),
   * returns the current one.
   */
  orderOf(takenAt: number): Order | Promise<Order> {
    const { order } = this.current();
    if (takenAt === order.takenAt) return order;
    const past = this.#pastOrders.use(takenAt, this.now());
    return past ?? (this.sharedOrders ? this.#orderOfReplicas(this.sharedOrders, takenAt) : order);
  }

  async #orderOfReplicas(orders: OrderExchange, takenAt: number): Promise<Order> {
    const found = await orders.find(takenAt);
    if (!found) return this.current().order;
    const now = this.now();
    if (!this.#pastOrders.use(takenAt, now)) this.#pastOrders.add(found, now, now);
    return found;
  }

  /**
   * Yields the current categories in a current or past order, with the viewers of that order, after a position or from
   * the start. Categories that are not listed in it have no viewers.
   */
  *walk(order: Order, after: Position | null): Generator<RankedCategory> {
    const { ids, viewers } = order;
    for (let i = after ? indexAfter(order, after) : 0; i < ids.length; i++) {
      const known = this.#categories.get(ids[i] ?? 0);
      if (known) yield ranked(known, viewers[i] ?? 0);
    }
    const all = this.categoryIds();
    const watched = new Set(ids);
    const lastId = after?.viewers === 0 ? after.id : 0;
    for (let i = firstIndex(all.length, (at) => (all[at] ?? 0) > lastId); i < all.length; i++) {
      const known = this.#categories.get(all[i] ?? 0);
      if (known && !watched.has(known.category.id)) yield ranked(known, 0);
    }
  }

  #takeSnapshot(liveState: LiveState): Snapshot {
    const all = once(() => byViewers([...liveState.categories.values()].flatMap(({ channels }) => channels)));
    return {
      order: liveState.order,
      category: (id) => {
        const known = this.#categories.get(id);
        return known && ranked(known, liveState.categories.get(id)?.viewers ?? 0);
      },
      topChannels: (id, count) => topChannels(liveState, id, count),
      liveChannels: (id) => (id === null ? all() : byViewers(liveState.categories.get(id)?.channels ?? [])),
      liveCount: (id) => liveState.categories.get(id)?.channels.length ?? 0,
    };
  }
}

/** How long an order is kept after the last request of a pagination that uses it. */
export const keepMs = 5 * 60_000;

/** The memory limit of past orders. */
export const maxKeptBytes = 16 * 2 ** 20;

/** The memory of an order's objects besides its arrays. */
const overheadBytes = 512;

interface Kept {
  readonly order: Order;
  /** When a newer order replaced it. */
  readonly pastSince: number;
  /** The last use. */
  usedAt: number;
}

/** The orders of the last minutes, for paginations that began with them. The least recently used are dropped first. */
export class PastOrders {
  /** By `takenAt`. */
  readonly #kept: LRUCache<number, Kept>;

  constructor(maxBytes: number = maxKeptBytes) {
    this.#kept = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ order }) => sizeOf(order) });
  }

  /** Adds an order that was last used at `usedAt`, and drops expired ones. */
  add(order: Order, usedAt: number, now: number): void {
    for (const [takenAt, kept] of [...this.#kept.entries()])
      if (isOver(kept, now)) this.#kept.delete(takenAt);
    this.#kept.set(order.takenAt, { order, pastSince: now, usedAt });
  }

  /** Returns the order taken at `takenAt` and keeps it for another `keepMs`; returns null if it was dropped. */
  use(takenAt: number, now: number): Order | null {
    const kept = this.#kept.peek(takenAt);
    if (!kept || isOver(kept, now)) return null;
    kept.usedAt = now;
    // A longer use does not count as recent, so that many long paginations of one client do not end those of others.
    if (now - kept.pastSince < keepMs) this.#kept.get(takenAt);
    return kept.order;
  }

  get bytes(): number {
    return this.#kept.calculatedSize;
  }
}

const isOver = ({ usedAt }: Kept, now: number) => now - usedAt > keepMs;

const sizeOf = ({ ids, viewers }: Order) => ids.byteLength + viewers.byteLength + overheadBytes;
