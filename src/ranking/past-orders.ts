import type { Order } from "./order.ts";

/** How long an order is kept after its last use by a pagination. */
export const keepMs = 5 * 60_000;

/**
 * The memory limit of past orders. Above it, paginations that began more than `keepMs` ago are dropped first, so that
 * many long ones of one client do not drop those of others; then the least recently used.
 */
export const maxKeptBytes = 16 * 2 ** 20;

/** The memory of an order's objects besides its arrays. */
const overheadBytes = 512;

interface Kept {
  readonly order: Order;
  /** When a newer order replaced it for new paginations. */
  readonly pastSince: number;
  /** The last use. */
  usedAt: number;
}

/** The orders of the last minutes, for paginations that began with one of them. */
export class PastOrders {
  /** By `takenAt`. */
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;

  constructor(readonly maxBytes: number = maxKeptBytes) {}

  /** Adds an order that was last handed out at `usedAt`, and drops expired ones. */
  add(order: Order, usedAt: number, now: number): void {
    this.#kept.set(order.takenAt, { order, pastSince: now, usedAt });
    this.#bytes += sizeOf(order);
    for (const kept of this.#kept.values()) if (isOver(kept, now)) this.#drop(kept.order);
    if (this.#bytes > this.maxBytes) this.#evict(now);
  }

  /** The order of that moment, kept for another `keepMs`; null when it was dropped. */
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
