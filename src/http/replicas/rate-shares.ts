import type { Share } from "../../store/replicas/news.ts";

/** What is taken is told in so many shares of the limit: a share is the error that each replica adds at most. */
const sharesPerLimit = 50;
const tellAfterMs = 5;
/** Keys in memory; beyond that they begin anew. */
const maxKeys = 65_536;

/**
 * Tells what is taken from rate limits here, so that a limit holds over all replicas: in shares of a fiftieth, each told
 * some milliseconds after it was taken. No request waits for that.
 */
export class RateShares {
  readonly #taken = new Map<string, { readonly limit: number; count: number }>();
  #due: Share[] = [];

  constructor(readonly broadcast: (shares: readonly Share[]) => void) {}

  /** Counts a request; -1: one that was given back, which is told as well. */
  count(key: string, limit: number, requests: 1 | -1): void {
    const taken = this.#taken.get(key) ?? { limit, count: 0 };
    taken.count += requests;
    if (Math.abs(taken.count) < Math.max(1, limit / sharesPerLimit)) {
      if (this.#taken.size >= maxKeys) this.#taken.clear();
      this.#taken.set(key, taken);
      return;
    }
    this.#taken.delete(key);
    if (this.#due.length === 0) setTimeout(() => this.#tellAll(), tellAfterMs);
    this.#due.push([key, limit, taken.count]);
  }

  #tellAll(): void {
    const byKey = new Map<string, Share>();
    for (const share of this.#due) {
      const [key, limit, count] = share;
      byKey.set(key, [key, limit, count + (byKey.get(key)?.[2] ?? 0)]);
    }
    this.#due = [];
    const shares = [...byKey.values()].filter(([, , count]) => count !== 0);
    if (shares.length > 0) this.broadcast(shares);
  }
}
