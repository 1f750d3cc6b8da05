import type { Category } from "../domain/categories.ts";
import type { Livestream } from "../domain/livestreams.ts";
import { fold } from "../domain/text.ts";
import { firstIndex, indexAfter, isSameOrder, type Order, type Position } from "./order.ts";
import { PastOrders } from "./past-orders.ts";

export interface RankedCategory {
  readonly category: Category;
  /** Its name in the form in which names are compared. */
  readonly foldedName: string;
  readonly viewers: number;
}

/** What the ranking needs to know of a livestream. */
export type LiveChannel = Pick<Livestream, "channel_id" | "category_id" | "viewers">;

/** All categories at one moment. Never changes once it is made, so whatever is made from it can be kept. */
export interface Snapshot {
  readonly order: Order;
  category(id: number): RankedCategory | undefined;
  /** The live channels of a category with the most viewers, then lower id. */
  topChannels(categoryId: number, count: number): LiveChannel[];
  /** Answers made from this snapshot, by request; whoever makes one keeps it here with `keep`. */
  readonly pages: ReadonlyMap<string, Page>;
  keep(key: string, page: Page): Page;
}

/** The bytes of an answer, ready to be sent. */
export interface Page {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  lines?: string;
}

/** A snapshot is remade for changed viewer counts at most so often, and is so never older than that. */
export const refreshMs = 1_000;

const maxPages = 2_000;

type Known = Omit<RankedCategory, "viewers">;

const ranked = ({ category, foldedName }: Known, viewers: number): RankedCategory => {
  return { category, foldedName, viewers };
};

/** A live channel, and the place of its category in arrays. */
interface Live extends LiveChannel {
  readonly slot: number;
}

interface Watched {
  readonly viewers: number;
  readonly channels: readonly LiveChannel[];
}

interface Standings {
  readonly order: Order;
  readonly bySlot: readonly Watched[];
}

/**
 * The live order of categories, in memory. The store is its source: it is filled from there at start, and every
 * change is kept there first and told here afterwards.
 */
export class Ranking {
  readonly #categories = new Map<number, Known>();
  readonly #live = new Map<number, Live>();
  readonly #slots = new Map<number, number>();
  readonly #past: PastOrders;
  /** Ids of all categories, ascending; null: to be made anew. */
  #ids: readonly number[] | null = null;
  #standings: Standings = { order: noOrder, bySlot: [] };
  #snapshot: Snapshot | null = null;
  #madeAt = Number.NEGATIVE_INFINITY;
  #handedOutAt = 0;
  #changed = false;

  constructor(
    readonly now: () => number,
    past = new PastOrders(),
  ) {
    this.#past = past;
  }

  /** New and changed categories show at once. */
  putCategories(categories: readonly Category[]): void {
    for (const category of categories) {
      this.#categories.set(category.id, { category, foldedName: fold(category.name) });
    }
    this.#categoriesChanged(categories.length);
  }

  /** They are gone at once, whoever may be live in them. */
  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    this.#categoriesChanged(ids.length);
  }

  #categoriesChanged(count: number): void {
    if (count === 0) return;
    this.#ids = null;
    this.#snapshot = null;
  }

  /** Changed viewer counts show within `refreshMs`. */
  putLive(livestreams: readonly LiveChannel[]): void {
    for (const { channel_id, category_id, viewers } of livestreams) {
      this.#live.set(channel_id, { channel_id, category_id, viewers, slot: this.#slotOf(category_id) });
    }
    this.#changed ||= livestreams.length > 0;
  }

  #slotOf(categoryId: number): number {
    const known = this.#slots.get(categoryId);
    if (known !== undefined) return known;
    this.#slots.set(categoryId, this.#slots.size);
    return this.#slots.size - 1;
  }

  endLive(channelIds: readonly number[]): void {
    for (const id of channelIds) this.#changed = this.#live.delete(id) || this.#changed;
  }

  /** Something that answers show beside the ranking, such as a channel's name, has changed. */
  touch(): void {
    this.#changed = true;
  }

  liveChannelIds(): number[] {
    return [...this.#live.keys()];
  }

  current(): Snapshot {
    const now = this.now();
    if (this.#changed && Math.abs(now - this.#madeAt) >= refreshMs) this.#refresh(now);
    this.#handedOutAt = now;
    this.#snapshot ??= this.#takeSnapshot();
    return this.#snapshot;
  }

  /**
   * The order that was taken at a moment, for a walk that began with it; today's where that is gone, which is 5 minutes
   * after it was used last. Older ones go first where memory is short: `PastOrders`.
   */
  orderOf(takenAt: number): Order {
    const { order } = this.current();
    return takenAt === order.takenAt ? order : (this.#past.use(takenAt, this.now()) ?? order);
  }

  /**
   * The categories that there are today, in an order of today or earlier and with the viewers they had then, behind a
   * position or from the first on. What is new since then stands among those that nobody watched.
   */
  *walk(order: Order, after: Position | null): Generator<RankedCategory> {
    const { ids, viewers } = order;
    for (let i = after ? indexAfter(order, after) : 0; i < ids.length; i++) {
      const known = this.#categories.get(ids[i] ?? 0);
      if (known) yield ranked(known, viewers[i] ?? 0);
    }
    const all = this.#allIds();
    const watched = new Set(ids);
    const behind = after?.viewers === 0 ? after.id : 0;
    for (let i = firstIndex(all.length, (at) => (all[at] ?? 0) > behind); i < all.length; i++) {
      const known = this.#categories.get(all[i] ?? 0);
      if (known && !watched.has(known.category.id)) yield ranked(known, 0);
    }
  }

  #allIds(): readonly number[] {
    this.#ids ??= [...this.#categories.keys()].sort((a, b) => a - b);
    return this.#ids;
  }

  #refresh(now: number): void {
    const { order: before } = this.#standings;
    const takenAt = Math.max(now, before.takenAt + 1);
    const taken = takeStandings(this.#live.values(), takenAt);
    if (isSameOrder(before, taken.order)) this.#standings = { ...taken, order: before };
    else {
      this.#past.add(before, this.#handedOutAt, now);
      this.#standings = taken;
    }
    this.#snapshot = null;
    this.#madeAt = now;
    this.#changed = false;
  }

  #takeSnapshot(): Snapshot {
    const { order, bySlot } = this.#standings;
    const watched = (id: number) => bySlot[this.#slots.get(id) ?? -1];
    const pages = new Map<string, Page>();
    return {
      order,
      category: (id) => {
        const known = this.#categories.get(id);
        return known && ranked(known, watched(id)?.viewers ?? 0);
      },
      topChannels: (id, count) => [...(watched(id)?.channels ?? [])].sort(mostWatched).slice(0, count),
      pages,
      keep(key, page) {
        if (pages.size >= maxPages) pages.clear();
        pages.set(key, page);
        return page;
      },
    };
  }
}

const noOrder: Order = { takenAt: 0, ids: new Float64Array(), viewers: new Float64Array() };

const mostWatched = (a: LiveChannel, b: LiveChannel) => b.viewers - a.viewers || a.channel_id - b.channel_id;

/** 0.7 ms for 20,000 channels in 2,000 categories, because a channel knows the slot of its category. */
function takeStandings(live: Iterable<Live>, takenAt: number): Standings {
  const bySlot: { id: number; viewers: number; channels: LiveChannel[] }[] = [];
  for (const channel of live) {
    const known = bySlot[channel.slot];
    if (known) {
      known.viewers += channel.viewers;
      known.channels.push(channel);
    } else {
      bySlot[channel.slot] = { id: channel.category_id, viewers: channel.viewers, channels: [channel] };
    }
  }
  const watched = bySlot
    .filter(({ viewers }) => viewers > 0)
    .sort((a, b) => b.viewers - a.viewers || a.id - b.id);
  const ids = new Float64Array(watched.length);
  const viewers = new Float64Array(watched.length);
  for (const [i, category] of watched.entries()) {
    ids[i] = category.id;
    viewers[i] = category.viewers;
  }
  return { order: { takenAt, ids, viewers }, bySlot };
}
