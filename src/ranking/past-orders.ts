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
}

/** The orders of the last minutes, for walks that began with one of them. */
export class PastOrders {
  /** By `takenAt`. */
  readonly #kept = new Map<number, Kept>();
  #bytes = 0;

  constructor(readonly maxBytes: number = maxKeptBytes) {}

  /** Keeps an order that was handed out last at `usedAt`; gives the moments of those that are kept no longer. */
  add(order: Order, usedAt: number, now: number): number[] {
    order.usedAt[0] = usedAt;
    this.#kept.set(order.takenAt, { order, pastSince: now });
    this.#bytes += sizeOf(order);
    const dropped = [...this.#kept.values()].filter((kept) => isOver(kept.order, now));
    for (const { order } of dropped) this.#drop(order);
    if (this.#bytes > this.maxBytes) dropped.push(...this.#makeRoom(now));
    return dropped.map(({ order }) => order.takenAt);
  }

  /** The order taken at that moment, kept for another `keepMs`; null where it is gone. */
  use(takenAt: number, now: number): Order | null {
    return useAgain(this.#kept.get(takenAt)?.order, now);
  }

  get bytes(): number {
    return this.#bytes;
  }

  #makeRoom(now: number): Kept[] {
    const byUse = [...this.#kept.values()].sort((a, b) => usedAt(a.order) - usedAt(b.order));
    const isLong = ({ pastSince }: Kept) => now - pastSince >= keepMs;
    const inTurn = [...byUse.filter(isLong), ...byUse.filter((kept) => !isLong(kept))];
    const dropped: Kept[] = [];
    for (const kept of inTurn) {
      if (this.#bytes <= this.maxBytes) break;
      this.#drop(kept.order);
      dropped.push(kept);
    }
    return dropped;
  }

  #drop(order: Order): void {
    this.#kept.delete(order.takenAt);
    this.#bytes -= sizeOf(order);
  }
}

/** An order that a walk goes on in, which keeps it for another `keepMs`; null where that is over. */
export function useAgain(order: Order | undefined, now: number): Order | null {
  if (!order || isOver(order, now)) return null;
  order.usedAt[0] = now;
  return order;
}

const usedAt = (order: Order) => order.usedAt[0] ?? 0;

const isOver = (order: Order, now: number) => now - usedAt(order) > keepMs;

const sizeOf = ({ ids, viewers }: Order) => ids.byteLength + viewers.byteLength + overheadBytes;
