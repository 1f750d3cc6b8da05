import { LRUCache } from "lru-cache";
import { emptyLiveState, type Order } from "../platform/ranking.ts";

/** The storage for orders that all replicas read. */
interface KeptOrders {
  keep(takenAt: number, content: Uint8Array, now: number): Promise<void>;
  find(takenAt: number): Promise<Uint8Array | null>;
}

/** The interval at which the expiry of an order in use is extended. */
const renewEveryMs = 60_000;
const maxNoted = 1_000;

/** The orders with which paginations on any replica began. */
export class SharedOrders {
  /** The time of the last `keep`, by `takenAt`. */
  readonly #keeping = new LRUCache<number, { readonly at: number; readonly kept: Promise<void> }>({
    max: maxNoted,
  });
  readonly #finding = new Map<number, Promise<Order | null>>();

  constructor(
    readonly store: KeptOrders,
    readonly now: () => number,
  ) {}

  /** Stores an order, so that paginations continue on other replicas. If that fails, they continue on this one only. */
  async share(order: Order): Promise<void> {
    const now = this.now();
    const known = this.#keeping.get(order.takenAt);
    if (known && Math.abs(now - known.at) < renewEveryMs) return known.kept;
    const kept = this.store.keep(order.takenAt, contentOf(order), now).catch(() => {
      this.#keeping.delete(order.takenAt);
    });
    this.#keeping.set(order.takenAt, { at: now, kept });
    // A renewal: the order is stored already, so the request need not wait.
    return known ? undefined : kept;
  }

  /** Returns the order taken at `takenAt`; null if it is not stored. */
  find(takenAt: number): Promise<Order | null> {
    if (takenAt === 0) return Promise.resolve(emptyLiveState.order);
    const known = this.#finding.get(takenAt);
    if (known) return known;
    const found = this.store
      .find(takenAt)
      .then((content) => content && orderFrom(takenAt, content))
      .finally(() => this.#finding.delete(takenAt));
    this.#finding.set(takenAt, found);
    return found;
  }
}

function contentOf({ ids, viewers }: Order): Uint8Array {
  const both = new Float64Array(ids.length + viewers.length);
  both.set(ids);
  both.set(viewers, ids.length);
  return Bun.zstdCompressSync(new Uint8Array(both.buffer), { level: 1 });
}

function orderFrom(takenAt: number, content: Uint8Array): Order {
  // Copied, because a Float64Array must begin at a multiple of eight bytes.
  const both = new Float64Array(Uint8Array.from(Bun.zstdDecompressSync(content)).buffer);
  const half = both.length / 2;
  return { takenAt, ids: both.slice(0, half), viewers: both.slice(half) };
}
