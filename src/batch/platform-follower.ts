import type { Ranking } from "../ranking/ranking.ts";
import type { Store } from "../store/store.ts";

/** What is read again. */
type Followed = "categories" | "livestreams";

/** What changes in that time is read together. */
const gatherMs = 50;
/** After a read that failed. */
const againAfterMs = 500;

/**
 * Keeps the ranking as the store is, where other processes change it, too. What may have changed is read one after the
 * other, each read after the change that was the reason for it; so that the last state wins.
 */
export class PlatformFollower {
  readonly #changed: Record<Followed, Set<number> | "all"> = {
    categories: new Set(),
    livestreams: new Set(),
  };
  #isReading = false;

  constructor(
    readonly store: Pick<Store, "categories" | "livestreams">,
    readonly ranking: Ranking,
  ) {}

  /** These may have changed; null: any. They are read soon. */
  changed(kind: Followed, ids: readonly number[] | null): void {
    const known = this.#changed[kind];
    if (ids === null) this.#changed[kind] = "all";
    else if (known !== "all") for (const id of ids) known.add(id);
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#isWanted("categories") || this.#isWanted("livestreams")) {
      await Bun.sleep(gatherMs);
      for (const kind of ["categories", "livestreams"] as const) {
        const ids = this.#changed[kind];
        this.#changed[kind] = new Set();
        try {
          if (ids === "all" || ids.size > 0) await this.#read(kind, ids === "all" ? null : [...ids]);
        } catch {
          // The storage reports by itself that it cannot be used.
          this.#changed[kind] = "all";
          await Bun.sleep(againAfterMs);
        }
      }
    }
    this.#isReading = false;
  }

  #isWanted(kind: Followed): boolean {
    const ids = this.#changed[kind];
    return ids === "all" || ids.size > 0;
  }

  async #read(kind: Followed, ids: readonly number[] | null): Promise<void> {
    const { store, ranking } = this;
    if (kind === "categories") {
      const before = ids ?? ranking.categoryIds();
      const found = await (ids ? store.categories.byIds(ids) : store.categories.all());
      ranking.putCategories(found);
      ranking.removeCategories(without(before, new Set(found.map(({ id }) => id))));
    } else {
      const before = ids ?? ranking.liveChannelIds();
      const found = await (ids ? store.livestreams.byChannels(ids) : store.livestreams.all());
      ranking.putLive(found);
      ranking.endLive(without(before, new Set(found.map(({ channel_id }) => channel_id))));
    }
  }
}

const without = (ids: readonly number[], kept: ReadonlySet<number>) => ids.filter((id) => !kept.has(id));
