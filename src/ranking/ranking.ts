import type { Category } from "../domain/categories.ts";
import { fold } from "../domain/validation/text.ts";
import { firstIndex, indexAfter, type Order, type Position } from "./order.ts";
import { PastOrders } from "./past-orders.ts";
import type { SharedOrders } from "./shared-orders.ts";
import { type LiveChannel, LiveChannels, noStandings, type Standings, topChannels } from "./standings.ts";

export interface RankedCategory {
  readonly category: Category;
  /** The name in the form for comparison. */
  readonly foldedName: string;
  readonly viewers: number;
}

/** All categories at one moment. Immutable, so results derived from it can be cached with it. */
export interface Snapshot {
  readonly order: Order;
  category(id: number): RankedCategory | undefined;
  /** The live channels of a category, more viewers first, then lower id. */
  topChannels(categoryId: number, count: number): LiveChannel[];
  /** Cached answers made from this snapshot, by request; added with `keep`. */
  readonly pages: ReadonlyMap<string, Page>;
  keep(key: string, page: Page): Page;
}

/** The body of an answer, ready to be sent. */
export interface Page {
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  readonly etag: string;
}

/** The shortest time between two snapshots, and so the greatest age of one. */
const refreshMs = 1_000;

const maxPages = 2_000;

type Known = Omit<RankedCategory, "viewers">;

const ranked = ({ category, foldedName }: Known, viewers: number): RankedCategory => {
  return { category, foldedName, viewers };
};

/** The live order of all categories, in memory. It is loaded from the store at start. */
export class Ranking {
  readonly #categories = new Map<number, Known>();
  /** The ids of all categories, ascending; null when they have changed. */
  #ids: readonly number[] | null = null;
  readonly #live = new LiveChannels();
  #standings = noStandings;
  #snapshot: Snapshot | null = null;
  #takenAt = Number.NEGATIVE_INFINITY;
  #handedOutAt = 0;
  #changed = (): void => {};

  constructor(
    readonly now: () => number,
    readonly pastOrders = new PastOrders(),
    /** Of all replicas; null where there is but one. */
    readonly sharedOrders: SharedOrders | null = null,
  ) {}

  /** Calls `listener` from now on when something has changed that `current` will show within `refreshMs`. */
  onChanged(listener: () => void): void {
    this.#changed = listener;
  }

  /** Adds or changes categories, at once. */
  putCategories(categories: readonly Category[]): void {
    for (const category of categories) {
      this.#categories.set(category.id, { category, foldedName: fold(category.name) });
    }
    this.#categoriesChanged(categories.length);
  }

  /** Removes categories at once, also those with live channels. */
  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    this.#categoriesChanged(ids.length);
  }

  /** Updates livestreams; viewer counts change within `refreshMs`. */
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
    if (this.#live.hasChanged && Math.abs(now - this.#takenAt) >= refreshMs) this.#takeStandings(now);
    this.#handedOutAt = now;
    this.#snapshot ??= this.#takeSnapshot(this.#standings);
    return this.#snapshot;
  }

  #takeStandings(now: number): void {
    const { order: before } = this.#standings;
    this.#standings = this.#live.take(before, this.#moment(now));
    if (this.#standings.order !== before) this.pastOrders.add(before, this.#handedOutAt, now);
    this.#takenAt = now;
    this.#snapshot = null;
  }

  /** A moment of which no other replica has an order: a fraction that a double still holds tells them apart. */
  #moment(now: number): number {
    return this.sharedOrders ? now + Math.floor(Math.random() * 4_096) / 4_096 : now;
  }

  /** Lets a walk in this order go on at any replica. */
  async share(order: Order): Promise<void> {
    await this.sharedOrders?.share(order);
  }

  /**
   * The order of a moment, for a pagination that began with it; the current one when it was dropped, 5 minutes after
   * its last use or earlier when memory is short: see `PastOrders`.
   */
  orderOf(takenAt: number): Order | Promise<Order> {
    const { order } = this.current();
    if (takenAt === order.takenAt) return order;
    const past = this.pastOrders.use(takenAt, this.now());
    return past ?? (this.sharedOrders ? this.#orderElsewhere(this.sharedOrders, takenAt) : order);
  }

  async #orderElsewhere(orders: SharedOrders, takenAt: number): Promise<Order> {
    const found = await orders.find(takenAt);
    if (!found) return this.current().order;
    const now = this.now();
    if (!this.pastOrders.use(takenAt, now)) this.pastOrders.add(found, now, now);
    return found;
  }

  /**
   * The current categories in a current or past order, with the viewers of that order, after a position or from the
   * start. Newer categories count as having no viewers.
   */
  *walk(order: Order, after: Position | null): Generator<RankedCategory> {
    const { ids, viewers } = order;
    for (let i = after ? indexAfter(order, after) : 0; i < ids.length; i++) {
      const known = this.#categories.get(ids[i] ?? 0);
      if (known) yield ranked(known, viewers[i] ?? 0);
    }
    const all = this.categoryIds();
    const watched = new Set(ids);
    const behind = after?.viewers === 0 ? after.id : 0;
    for (let i = firstIndex(all.length, (at) => (all[at] ?? 0) > behind); i < all.length; i++) {
      const known = this.#categories.get(all[i] ?? 0);
      if (known && !watched.has(known.category.id)) yield ranked(known, 0);
    }
  }

  #takeSnapshot(standings: Standings): Snapshot {
    const pages = new Map<string, Page>();
    return {
      order: standings.order,
      category: (id) => {
        const known = this.#categories.get(id);
        return known && ranked(known, standings.categories.get(id)?.viewers ?? 0);
      },
      topChannels: (id, count) => topChannels(standings, id, count),
      pages,
      keep(key, page) {
        if (pages.size >= maxPages) pages.clear();
        pages.set(key, page);
        return page;
      },
    };
  }
}
