import type { Share } from "../domain/replicas.ts";

/** Usage is reported in parts of `limit / sharesPerLimit`: the maximum error that each replica adds. */
const sharesPerLimit = 50;
const reportAfterMs = 5;
/** The maximum number of keys in memory. All are dropped when there are more. */
const maxKeys = 65_536;

/**
 * Reports the requests counted against rate limits here, so that a limit applies across all replicas. It reports a
 * fiftieth of a limit at a time, some milliseconds after it was used. No request waits for a report.
 */
export class RateShares {
  readonly #taken = new Map<string, { readonly limit: number; count: number }>();
  #due: Share[] = [];

  constructor(readonly broadcast: (shares: readonly Share[]) => void) {}

  /** Counts a request, or with -1 one that was given back; both are reported. */
  count(key: string, limit: number, requests: 1 | -1): void {
    const taken = this.#taken.get(key) ?? { limit, count: 0 };
    taken.count += requests;
    if (Math.abs(taken.count) < Math.max(1, limit / sharesPerLimit)) {
      if (this.#taken.size >= maxKeys) this.#taken.clear();
      this.#taken.set(key, taken);
      return;
    }
    this.#taken.delete(key);
    if (this.#due.length === 0) setTimeout(() => this.#report(), reportAfterMs);
    this.#due.push([key, limit, taken.count]);
  }

  #report(): void {
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
