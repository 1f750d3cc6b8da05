import type { Order } from "./order.ts";

/** How long an order is kept after the last request of a pagination that uses it. */
export const keepMs = 5 * 60_000;

/**
 * The memory limit of past orders. Above it, orders that are past for more than `keepMs` are dropped first, so that
 * many long paginations of one client do not end those of others; then the least recently used.
 */
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

/** The orders of the last minutes, for paginations that began with them. */
export class PastOrders {
  /** By `takenAt`. */
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;

  constructor(readonly maxBytes: number = maxKeptBytes) {}

  /** Adds an order that was last used at `usedAt`, and drops expired ones. */
  add(order: Order, usedAt: number, now: number): void {
    this.#kept.set(order.takenAt, { order, pastSince: now, usedAt });
    this.#bytes += sizeOf(order);
    for (const kept of this.#kept.values()) if (isOver(kept, now)) this.#drop(kept.order);
    if (this.#bytes > this.maxBytes) this.#evict(now);
  }

  /** Returns the order taken at `takenAt` and keeps it for another `keepMs`; returns null if it was dropped. */
  use(takenAt: number, now: number): Order | null {
    const kept = this.#kept.get(takenAt);
    if (!kept || isOver(kept, now)) return null;
    kept.usedAt = now;
    return kept.order;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #evict(now: number): void {
    const byUse = [...this.#kept.values()].sort((a, b) => a.usedAt - b.usedAt);
    const isLong = ({ pastSince }: Kept) => now - pastSince >= keepMs;
    for (const kept of [...byUse.filter(isLong), ...byUse.filter((kept) => !isLong(kept))]) {
      if (this.#bytes <= this.maxBytes) return;
      this.#drop(kept.order);
    }
  }

  #drop(order: Order): void {
    this.#kept.delete(order.takenAt);
    this.#bytes -= sizeOf(order);
  }
}

const isOver = ({ usedAt }: Kept, now: number) => now - usedAt > keepMs;

const sizeOf = ({ ids, viewers }: Order) => ids.byteLength + viewers.byteLength + overheadBytes;
