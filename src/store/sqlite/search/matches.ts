import type { Database } from "bun:sqlite";
import type { UserSummary } from "../../../domain/users.ts";
import { exactBuckets, idBits, lastBucket } from "./popularity.ts";
import type { TrigramCounts } from "./trigrams.ts";

/** A user found by a search. */
export interface FoundUser extends Omit<UserSummary, "is_verified"> {
  readonly is_verified: number;
  readonly followers_count: number;
  readonly bucket: number;
}

/** A query uses at most this many trigrams, and no further ones after one that at most `fewUsers` have. */
const askedTrigrams = 3;
const fewUsers = 100;

/**
 * The limit of a search's cost, and the costs of reading an entry of a list and the names of a user. The unit is an
 * entry that FTS5 skips. A search blocks its thread, so all other requests wait for it.
 */
const mostWork = 400_000;
const costOf = { entry: 8, name: 150 } as const;

/**
 * FTS5, which cannot be interrupted, intersects lists of up to this many entries together; `common` intersects longer
 * ones.
 */
const mostAtOnce = 300_000;

/** The remaining cost that a search may cause. */
export class SearchWork {
  #left = mostWork;
  #kept = 0;
  #isCutOff = false;

  /** Subtracts a cost. Returns false when the limit is reached. */
  spend(on: keyof typeof costOf): boolean {
    this.#left -= costOf[on];
    if (this.#left < this.#kept) this.#isCutOff = true;
    return this.#left >= this.#kept;
  }

  /** Reserves half of the rest, until `useAll`. */
  keepHalf(): void {
    this.#kept = Math.floor(this.#left / 2);
  }

  useAll(): void {
    this.#kept = 0;
  }

  /** Whether the limit ended the search early. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }
}

const quoted = (trigram: string) => `"${trigram.replaceAll('"', '""')}"`;

const columns = "u.id, u.username, u.display_name, u.profile_picture, u.is_verified, u.followers_count";

/** Makes the functions that read users by their trigrams, in the order of the index. */
export function searchMatches(db: Database, counts: TrigramCounts) {
  const matches = db.prepare<FoundUser, [string]>(
    `SELECT ${columns}, s.rowid >> ${idBits} AS bucket
     FROM user_search s CROSS JOIN users u ON u.id = s.rowid & ${2 ** idBits - 1}
     WHERE s.user_search MATCH ? ORDER BY s.rowid`,
  );
  const everyone = db.prepare<FoundUser, []>(
    `SELECT ${columns}, s.id >> ${idBits} AS bucket
     FROM user_search_docsize s CROSS JOIN users u ON u.id = s.id & ${2 ** idBits - 1} ORDER BY s.id`,
  );
  // The rowid in two parts, because it exceeds the integers that a JavaScript number represents exactly.
  const entries = Array.from({ length: askedTrigrams }, () =>
    db.prepare<Entry, [string]>(
      `SELECT rowid >> ${idBits} AS bucket, rowid & ${2 ** idBits - 1} AS id
       FROM user_search WHERE user_search MATCH ? ORDER BY rowid`,
    ),
  );
  const byId = db.prepare<FoundUser, [number, number]>(
    `SELECT ${columns}, ?2 AS bucket FROM users u WHERE u.id = ?1`,
  );

  /** Returns the rarest of these trigrams, rarest first. */
  const rarest = (wanted: readonly string[]) => {
    const known = wanted.map((trigram) => ({ trigram, users: counts.of(trigram) }));
    known.sort((a, b) => a.users - b.users);
    const enough = known.findIndex(({ users }) => users <= fewUsers);
    return known.slice(0, enough === -1 ? askedTrigrams : enough + 1);
  };

  function* having(wanted: readonly string[], work: SearchWork): Generator<FoundUser> {
    const asked = rarest(wanted);
    if (asked.length === 0) {
      for (const row of everyone.iterate()) {
        if (!work.spend("name")) return;
        yield row;
      }
      return;
    }
    const all = asked.reduce((sum, { users }) => sum + users, 0);
    const lists = asked.map(({ trigram }) => quoted(trigram));
    if (lists.length === 1 || all <= mostAtOnce) {
      for (const row of matches.iterate(lists.join(" AND "))) {
        if (!work.spend("name")) return;
        yield row;
      }
      return;
    }
    const open = lists.map((list, i) => (entries[i] as (typeof entries)[number]).iterate(list));
    try {
      for (const { id, bucket } of common(open, work)) {
        const row = work.spend("name") ? byId.get(id, bucket) : null;
        if (row) yield row;
      }
    } finally {
      for (const list of open) list.return?.();
    }
  }

  return {
    /**
     * Returns the first `limit` users that have all trigrams (without one: of all users) and are `wanted`, in exact
     * order, within the limit of `work`.
     */
    best(
      trigrams: readonly string[],
      limit: number,
      wanted: (row: FoundUser) => boolean,
      work: SearchWork,
    ): FoundUser[] {
      const found: FoundUser[] = [];
      if (limit === 0) return found;
      let bucketStart = 0;
      for (const row of having(trigrams, work)) {
        if (row.bucket !== found[bucketStart]?.bucket) {
          if (found.length >= limit) break;
          bucketStart = found.length;
        }
        // In a bucket of a single follower count, the order by rowid is exact.
        if (found.length >= limit && row.bucket > lastBucket - exactBuckets) break;
        if (wanted(row)) found.push(row);
      }
      return found.sort((a, b) => b.followers_count - a.followers_count || a.id - b.id).slice(0, limit);
    },
  };
}

interface Entry {
  readonly bucket: number;
  readonly id: number;
}

const compare = (a: Entry, b: Entry) => a.bucket - b.bucket || a.id - b.id;

/** Yields the intersection of ascending lists, within the limit of `work`. */
function* common(lists: readonly Iterator<Entry>[], work: SearchWork): Generator<Entry> {
  const heads: Entry[] = [];
  const advance = (i: number): boolean => {
    const { value, done } = (lists[i] as Iterator<Entry>).next();
    if (done || !work.spend("entry")) return false;
    heads[i] = value;
    return true;
  };
  for (const i of lists.keys()) if (!advance(i)) return;
  while (true) {
    const last = heads.reduce((a, b) => (compare(a, b) < 0 ? b : a));
    for (const i of lists.keys()) {
      while (compare(heads[i] as Entry, last) < 0) if (!advance(i)) return;
    }
    if (heads.some((head) => compare(head, last) !== 0)) continue;
    yield last;
    if (!advance(0)) return;
  }
}
