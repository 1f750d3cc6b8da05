import type { Store } from "../domain/store.ts";
import type { Ranking } from "../platform/ranking.ts";
import { repeatedRead } from "../runtime/repeated-read.ts";

type Followed = "categories" | "livestreams";

/**
 * Updates the ranking from a store that other processes also change. Data that may have changed is read after the
 * change, in one read at a time, so that the last state wins.
 */
export class PlatformFollower {
  readonly #changed: Record<Followed, Set<number> | "all"> = {
    categories: new Set(),
    livestreams: new Set(),
  };
  readonly #reading = repeatedRead(() => this.#readChanged());

  constructor(
    readonly store: Pick<Store, "categories" | "livestreams">,
    readonly ranking: Ranking,
  ) {}

  /** Requests a read of data that may have changed; `ids` is null for all. */
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
