import { LRUCache } from "lru-cache";
import type { Order } from "./order.ts";

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
