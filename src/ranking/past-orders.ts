import type { Order } from "./order.ts";

/** So long after its last step a walk still goes on in the order it began with. */
export const keepMs = 5 * 60_000;

/**
 * At most so much is kept: 300 orders of 3,300 watched categories. Of more, walks that began more than `keepMs` ago
 * give way first, so that nobody can drive out others by keeping many walks going; after them, the one left alone for
 * longest.
 */
export const maxKeptBytes = 16 * 2 ** 20;

/** What the objects around the figures of an order take. */
const overheadBytes = 512;

interface Kept {
  readonly order: Order;
  /** Since when no walk begins with it. */
  readonly pastSince: number;
  usedAt: number;
}

/** The orders of the last minutes, for walks that began with one of them. */
export class PastOrders {
  /** By `takenAt`; what was used last comes last. */
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;

  constructor(readonly maxBytes: number = maxKeptBytes) {}

  /** Keeps an order that was handed out last at `usedAt`. */
  add(order: Order, usedAt: number, now: number): void {
    this.#kept.set(order.takenAt, { order, pastSince: now, usedAt });
    this.#bytes += sizeOf(order);
    for (const kept of this.#kept.values()) if (isOver(kept, now)) this.#drop(kept);
    while (this.#bytes > this.maxBytes) {
      const all = [...this.#kept.values()];
      const first = all.find(({ pastSince }) => now - pastSince >= keepMs) ?? all[0];
      if (!first) break;
      this.#drop(first);
    }
  }

  /** The order taken at that moment, kept for another `keepMs`; null where it is gone. */
  use(takenAt: number, now: number): Order | null {
    const kept = this.#kept.get(takenAt);
    if (!kept || isOver(kept, now)) return null;
    kept.usedAt = now;
    this.#kept.delete(takenAt);
    this.#kept.set(takenAt, kept);
    return kept.order;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #drop({ order }: Kept): void {
    this.#kept.delete(order.takenAt);
    this.#bytes -= sizeOf(order);
  }
}

const isOver = ({ usedAt }: Kept, now: number) => now - usedAt > keepMs;

const sizeOf = ({ ids, viewers }: Order) => ids.byteLength + viewers.byteLength + overheadBytes;
