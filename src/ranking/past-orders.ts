import type { Order } from "./order.ts";

/** So long after its last step a walk still goes on in the order it began with. */
export const keepMs = 5 * 60_000;

/**
 * At most so much is kept: 300 orders of 3,300 watched categories. Of more, walks that began more than `keepMs` ago
 * give way first, so that many long walks of one client do not drive out those of others; after them, the one left alone for
 * longest.
 */
export const maxKeptBytes = 16 * 2 ** 20;

/** What the objects around the figures of an order take. */
const overheadBytes = 512;

interface Kept {
  readonly order: Order;
  /** Since when no walk begins with it. */
  readonly pastSince: number;
  /** When a walk went on in it last. */
  usedAt: number;
}

/** The orders of the last minutes, for walks that began with one of them. */
export class PastOrders {
  /** By `takenAt`. */
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;

  constructor(readonly maxBytes: number = maxKeptBytes) {}

  /** Keeps an order that was handed out last at `usedAt`, and drops those that are over. */
  add(order: Order, usedAt: number, now: number): void {
    this.#kept.set(order.takenAt, { order, pastSince: now, usedAt });
    this.#bytes += sizeOf(order);
    for (const kept of this.#kept.values()) if (isOver(kept, now)) this.#drop(kept.order);
    if (this.#bytes > this.maxBytes) this.#makeRoom(now);
  }

  /** The order taken at that moment, kept for another `keepMs`; null where it is gone. */
  use(takenAt: number, now: number): Order | null {
    const kept = this.#kept.get(takenAt);
    if (!kept || isOver(kept, now)) return null;
    kept.usedAt = now;
    return kept.order;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #makeRoom(now: number): void {
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
