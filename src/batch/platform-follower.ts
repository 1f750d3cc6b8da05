import type { Ranking } from "../ranking/ranking.ts";
import type { Store } from "../store/store.ts";
import { rereading } from "./rereading.ts";

/** What is read again. */
type Followed = "categories" | "livestreams";

/**
 * Keeps the ranking as the store is, where other processes change it, too. What may have changed is read one after the
 * other, each read after the change that was the reason for it; so that the last state wins.
 */
export class PlatformFollower {
  readonly #changed: Record<Followed, Set<number> | "all"> = {
    categories: new Set(),
    livestreams: new Set(),
  };
  readonly #reading = rereading(() => this.#readChanged());

  constructor(
    readonly store: Pick<Store, "categories" | "livestreams">,
    readonly ranking: Ranking,
  ) {}

  /** These may have changed; null: any. They are read soon. */
  changed(kind: Followed, ids: readonly number[] | null): void {
    const known = this.#changed[kind];
    if (ids === null) this.#changed[kind] = "all";
    else if (known !== "all") for (const id of ids) known.add(id);
    this.#reading.ask();
  }

  stop(): void {
    this.#reading.stop();
  }

  async #readChanged(): Promise<void> {
    for (const kind of ["categories", "livestreams"] as const) {
      const ids = this.#changed[kind];
      this.#changed[kind] = new Set();
      try {
        if (ids === "all" || ids.size > 0) await this.#read(kind, ids === "all" ? null : [...ids]);
      } catch (error) {
        this.#changed[kind] = "all";
        throw error;
      }
    }
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
