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

/** The bytes of an answer, ready to be sent. */
export interface Page {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  lines?: string;
}

/** Standings are taken at most so often, and are so never older than that. */
export const refreshMs = 1_000;

const maxPages = 2_000;

type Known = Omit<RankedCategory, "viewers">;

const ranked = ({ category, foldedName }: Known, viewers: number): RankedCategory => {
  return { category, foldedName, viewers };
};

/** Where a ranking has the standings from. */
export interface StandingsSource {
  /** Those that hold now: the same object for as long as it is the same standings. */
  current(): Standings;
  /** An order of the past, for a walk that began with it, and is kept by that; null where it is gone. */
  past(takenAt: number): Order | null;
}

/** What a ranking is told when the platform has reported something; it was kept in the store before. */
export interface RankingWriter {
  /** New and changed categories show at once. */
  putCategories(categories: readonly Category[]): void | Promise<void>;
  /** They are gone at once, whoever may be live in them. */
  removeCategories(ids: readonly number[]): void | Promise<void>;
  /** Changed viewer counts show within `refreshMs`. */
  putLive(livestreams: readonly LiveChannel[]): void;
  endLive(channelIds: readonly number[]): void;
  /** Something that answers show beside the ranking, such as a channel's name, has changed. */
  touch(): void;
  liveChannelIds(): number[];
}

/** The live order of categories, to read: all categories, in memory, and the standings of a source. */
export class RankingView {
  readonly #source: StandingsSource;
  readonly #categories = new Map<number, Known>();
  /** Ids of all categories, ascending; null: to be made anew. */
  #ids: readonly number[] | null = null;
  #snapshot: Snapshot | null = null;
  #snapshotOf: Standings | null = null;

  constructor(source: StandingsSource) {
    this.#source = source;
  }

  putCategories(categories: readonly Category[]): void {
    for (const category of categories) {
      this.#categories.set(category.id, { category, foldedName: fold(category.name) });
    }
    this.#categoriesChanged(categories.length);
  }

  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    this.#categoriesChanged(ids.length);
  }

  #categoriesChanged(count: number): void {
    if (count === 0) return;
    this.#ids = null;
    this.#snapshot = null;
  }

  current(): Snapshot {
    const standings = this.#source.current();
    if (this.#snapshot === null || this.#snapshotOf !== standings) {
      this.#snapshot = this.#takeSnapshot(standings);
      this.#snapshotOf = standings;
    }
    return this.#snapshot;
  }

  /**
   * The order that was taken at a moment, for a walk that began with it; today's where that is gone, which is 5 minutes
   * after it was used last. Older ones go first where memory is short: `PastOrders`.
   */
  orderOf(takenAt: number): Order {
    const { order } = this.current();
    return takenAt === order.takenAt ? order : (this.#source.past(takenAt) ?? order);
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

/** Standings that are taken when somebody asks for them. */
class OwnStandings implements StandingsSource {
  readonly live = new LiveChannels();
  #standings = nobodyLive();
  #takenAt = Number.NEGATIVE_INFINITY;
  #handedOutAt = 0;

  constructor(
    readonly now: () => number,
    readonly pastOrders: PastOrders,
  ) {}

  current(): Standings {
    const now = this.now();
    if (this.live.hasChanged && Math.abs(now - this.#takenAt) >= refreshMs) this.#take(now);
    this.#handedOutAt = now;
    return this.#standings;
  }

  past(takenAt: number): Order | null {
    return this.pastOrders.use(takenAt, this.now());
  }

  #take(now: number): void {
    const { order: before } = this.#standings;
    this.#standings = new Standings(this.live.take(before, now));
    if (this.#standings.order !== before) this.pastOrders.add(before, this.#handedOutAt, now);
    this.#takenAt = now;
  }
}

/** The ranking of a server of one thread. The store is its source: it is filled from there at start. */
export class Ranking extends RankingView implements RankingWriter {
  readonly #live: LiveChannels;

  constructor(now: () => number, past = new PastOrders()) {
    const standings = new OwnStandings(now, past);
    super(standings);
    this.#live = standings.live;
  }

  putLive(livestreams: readonly LiveChannel[]): void {
    this.#live.put(livestreams);
  }

  endLive(channelIds: readonly number[]): void {
    this.#live.end(channelIds);
  }

  touch(): void {
    this.#live.touch();
  }

  liveChannelIds(): number[] {
    return this.#live.ids;
  }
}
