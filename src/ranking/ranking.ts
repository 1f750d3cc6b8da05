import type { Category } from "../domain/categories.ts";
import { fold } from "../domain/text.ts";
import { firstIndex, indexAfter, type Order, type Position } from "./order.ts";
import { PastOrders } from "./past-orders.ts";
import { type LiveChannel, LiveChannels, nobodyLive, Standings } from "./standings.ts";

export interface RankedCategory {
  readonly category: Category;
  /** Its name in the form in which names are compared. */
  readonly foldedName: string;
  readonly viewers: number;
}

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

/** The body of an answer, ready to be sent. */
export interface Page {
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly etag: string;
}

/** Standings are taken at most so often, and are so never older than that. */
const refreshMs = 1_000;

const maxPages = 2_000;

type Known = Omit<RankedCategory, "viewers">;

const ranked = ({ category, foldedName }: Known, viewers: number): RankedCategory => {
  return { category, foldedName, viewers };
};

/** The live order of all categories, in memory. The store is its source: it is filled from there at start. */
export class Ranking {
  readonly #categories = new Map<number, Known>();
  /** Ids of all categories, ascending; null: to be made anew. */
  #ids: readonly number[] | null = null;
  readonly #live = new LiveChannels();
  #standings = nobodyLive();
  #snapshot: Snapshot | null = null;
  #takenAt = Number.NEGATIVE_INFINITY;
  #handedOutAt = 0;

  constructor(
    readonly now: () => number,
    readonly pastOrders = new PastOrders(),
  ) {}

  /** New and changed categories show at once. */
  putCategories(categories: readonly Category[]): void {
    for (const category of categories) {
      this.#categories.set(category.id, { category, foldedName: fold(category.name) });
    }
    this.#categoriesChanged(categories.length);
  }

  /** They are gone at once, also where channels are live in them. */
  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    this.#categoriesChanged(ids.length);
  }

  /** Changed viewer counts show within `refreshMs`. */
  putLive(livestreams: readonly LiveChannel[]): void {
    this.#live.put(livestreams);
  }

  endLive(channelIds: readonly number[]): void {
    this.#live.end(channelIds);
  }

  /** Something that answers show beside the ranking, such as a channel's name, has changed. */
  touch(): void {
    this.#live.touch();
  }

  liveChannelIds(): number[] {
    return this.#live.ids;
  }

  #categoriesChanged(count: number): void {
    if (count === 0) return;
    this.#ids = null;
    this.#snapshot = null;
  }

  current(): Snapshot {
    const now = this.now();
    if (this.#live.hasChanged && Math.abs(now - this.#takenAt) >= refreshMs) this.#takeStandings(now);
    this.#handedOutAt = now;
    this.#snapshot ??= this.#takeSnapshot(this.#standings);
    return this.#snapshot;
  }

  #takeStandings(now: number): void {
    const { order: before } = this.#standings;
    this.#standings = new Standings(this.#live.take(before, now));
    if (this.#standings.order !== before) this.pastOrders.add(before, this.#handedOutAt, now);
    this.#takenAt = now;
    this.#snapshot = null;
  }

  /**
   * The order that was taken at a moment, for a walk that began with it; today's where that is gone, which is 5 minutes
   * after it was used last. Older ones go first where memory is short: `PastOrders`.
   */
  orderOf(takenAt: number): Order {
    const { order } = this.current();
    return takenAt === order.takenAt ? order : (this.pastOrders.use(takenAt, this.now()) ?? order);
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

  #takeSnapshot(standings: Standings): Snapshot {
    const pages = new Map<string, Page>();
    return {
      order: standings.order,
      category: (id) => {
        const known = this.#categories.get(id);
        return known && ranked(known, standings.viewersOf(id));
      },
      topChannels: (id, count) => standings.topChannels(id, count),
      pages,
      keep(key, page) {
        if (pages.size >= maxPages) pages.clear();
        pages.set(key, page);
        return page;
      },
    };
  }
}
