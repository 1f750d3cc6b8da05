import type { Category } from "../domain/categories.ts";
import type { Livestream } from "../domain/livestreams.ts";

export interface RankedCategory {
  readonly category: Category;
  readonly viewers: number;
}

/** What the ranking needs to know of a livestream. */
export type LiveChannel = Pick<Livestream, "channel_id" | "category_id" | "viewers">;

/** The order of all categories at one moment. Never changes once it is made, so whatever is made from it can be kept. */
export interface Snapshot {
  /** More viewers first, then lower id. */
  readonly order: readonly RankedCategory[];
  category(id: number): RankedCategory | undefined;
  /** The live channels of a category with the most viewers, then lower id. */
  topChannels(categoryId: number, count: number): LiveChannel[];
  /** Answers made from this snapshot, by request; whoever makes one keeps it here with `keep`. */
  readonly pages: ReadonlyMap<string, Page>;
  keep(key: string, page: Page): Page;
}

/** The bytes of an answer, ready to be sent. */
export interface Page {
  readonly body: Blob;
  readonly etag: string;
  headers?: Headers;
}

/** A snapshot is remade for changed viewer counts at most so often, and is so never older than that. */
export const refreshMs = 1_000;

const maxPages = 2_000;

const byViewers = <T>(viewers: (item: T) => number, id: (item: T) => number) => {
  return (a: T, b: T) => viewers(b) - viewers(a) || id(a) - id(b);
};

const inOrder = byViewers<RankedCategory>(
  (ranked) => ranked.viewers,
  (ranked) => ranked.category.id,
);
const mostWatched = byViewers<LiveChannel>(
  (live) => live.viewers,
  (live) => live.channel_id,
);

/**
 * The live order of categories, in memory. The store is its source: it is filled from there at start, and every
 * change is kept there first and told here afterwards.
 */
export class Ranking {
  readonly #categories = new Map<number, Category>();
  readonly #live = new Map<number, LiveChannel>();
  #snapshot: Snapshot | null = null;
  #madeAt = 0;
  #changed = false;

  constructor(readonly now: () => number) {}

  /** New and changed categories show at once. */
  putCategories(categories: readonly Category[]): void {
    for (const category of categories) this.#categories.set(category.id, category);
    if (categories.length > 0) this.#snapshot = null;
  }

  /** Categories that are gone stop showing at once. */
  removeCategories(ids: readonly number[]): void {
    for (const id of ids) this.#categories.delete(id);
    if (ids.length > 0) this.#snapshot = null;
  }

  /** Changed viewer counts show within `refreshMs`. */
  putLive(livestreams: readonly LiveChannel[]): void {
    for (const live of livestreams) {
      const { channel_id, category_id, viewers } = live;
      this.#live.set(channel_id, { channel_id, category_id, viewers });
    }
    this.#changed ||= livestreams.length > 0;
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
    const due = this.#changed && Math.abs(this.now() - this.#madeAt) >= refreshMs;
    if (!this.#snapshot || due) {
      this.#snapshot = takeSnapshot(this.#categories, this.#live);
      this.#madeAt = this.now();
      this.#changed = false;
    }
    return this.#snapshot;
  }
}

function takeSnapshot(
  categories: ReadonlyMap<number, Category>,
  live: ReadonlyMap<number, LiveChannel>,
): Snapshot {
  const channels = new Map<number, LiveChannel[]>();
  for (const channel of live.values()) {
    const list = channels.get(channel.category_id);
    if (list) list.push(channel);
    else channels.set(channel.category_id, [channel]);
  }
  const ranked = new Map<number, RankedCategory>();
  for (const category of categories.values()) {
    const viewers = (channels.get(category.id) ?? []).reduce((sum, channel) => sum + channel.viewers, 0);
    ranked.set(category.id, { category, viewers });
  }
  const pages = new Map<string, Page>();
  return {
    order: [...ranked.values()].sort(inOrder),
    category: (id) => ranked.get(id),
    topChannels: (id, count) => [...(channels.get(id) ?? [])].sort(mostWatched).slice(0, count),
    pages,
    keep(key, page) {
      if (pages.size >= maxPages) pages.clear();
      pages.set(key, page);
      return page;
    },
  };
}

/** Index of the first category behind a position of the order; the one that stood there may be gone. */
export function indexAfter(order: readonly RankedCategory[], position: Position): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = order[middle];
    if (at && isAfter(at, position)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A place in the order: that of the last category a client has seen. */
export interface Position {
  readonly viewers: number;
  readonly id: number;
}

function isAfter({ viewers, category }: RankedCategory, position: Position): boolean {
  return viewers < position.viewers || (viewers === position.viewers && category.id > position.id);
}
