import { minute } from "../../../domain/time.ts";
import type { Queries } from "../database/pool.ts";

/** PostgreSQL's statistics of the terms, collected by `ANALYZE`: the number of users, and the most common terms. */
const statement = `
SELECT c.reltuples::float8 AS users, s.most_common_elems::text::int4[] AS terms, s.most_common_elem_freqs AS frequencies
FROM pg_class c LEFT JOIN pg_stats s ON s.schemaname = c.relnamespace::regnamespace::text
  AND s.tablename = c.relname AND s.attname = 'terms'
WHERE c.oid = to_regclass('user_search')`;

interface Statistics {
  readonly users: number;
  readonly terms: number[] | null;
  readonly frequencies: number[] | null;
}

const refreshMs = minute;

/** Estimates how many users have a term. */
export class TermFrequencies {
  users = 0;
  #frequencies = new Map<number, number>();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(readonly queries: Queries) {}

  /** Reads the statistics again if they are old. Only the first search waits for this. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt < refreshMs) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    if (this.#readAt === Number.NEGATIVE_INFINITY) await this.#reading;
    else this.#reading.catch(() => {}); // the next one tries again
  }

  async #read(): Promise<void> {
    const [found] = await this.queries.run<Statistics>(statement);
    const { users = 0, terms, frequencies } = found ?? {};
    this.users = Math.max(0, users);
    this.#frequencies = new Map(terms?.map((term, i) => [term, frequencies?.[i] ?? 0]));
    this.#readAt = performance.now();
  }

  /** Returns the term that the fewest users have. */
  rarestOf(terms: readonly number[]): number | undefined {
    const known = this.#frequencies;
    return terms.toSorted((a, b) => (known.get(a) ?? 0) - (known.get(b) ?? 0))[0];
  }

  /** Estimates how many users have all of these terms, at most; 0 if one of them is not common. */
  ofAll(terms: readonly number[]): number {
    return (this.#frequencies.get(this.rarestOf(terms) ?? 0) ?? 0) * this.users;
  }
}
