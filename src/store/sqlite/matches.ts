import type { Database } from "bun:sqlite";
import type { UserSummary } from "../../domain/users.ts";

/*
 * The order of the search index: rowid = bucket of the follower count · id of the user. `search.ts` explains why.
 */

const exactBuckets = 256;
const bucketsPerOctave = 16;
const lastBucket = 1023;
export const idBits = 53;

/** Returns the bucket of a follower count: 0 for the most followers. */
export function popularityBucket(followers: number): number {
  const rank =
    followers < exactBuckets
      ? followers
      : exactBuckets + Math.floor((Math.log2(followers) - Math.log2(exactBuckets)) * bucketsPerOctave);
  return lastBucket - Math.min(rank, lastBucket);
}

/** Returns the distinct trigrams of a text: all sequences of three code points. */
export function trigrams(text: string): string[] {
  const points = [...text];
  const found = new Set<string>();
  for (let i = 2; i < points.length; i++) found.add(`${points[i - 2]}${points[i - 1]}${points[i]}`);
  return [...found];
}

const slots = 2 ** 16;

/**
 * Returns the slot in which a trigram is counted. Trigrams that share a slot seem a little more common than they are.
 */
function slotOf(first: number, second: number, third: number): number {
  const mix = (hash: number, point: number) => Math.imul(hash ^ point, 0x01000193);
  const hash = mix(mix(mix(0x811c9dc5, first), second), third);
  return (hash ^ (hash >>> 16)) & (slots - 1);
}

const pointOf = (character: string) => character.codePointAt(0) ?? 0;

/** Counts are written after this many changes, or after changes of a twentieth of the total if that is more. */
const leastUnwritten = 2_000;

/** How often a connection that reads checks for counts written by another connection. */
const refreshMs = 1_000;

/**
 * Estimates how many users have a trigram, in 256 KB of memory. Only the speed of a search depends on it, so it is
 * written to the database only occasionally, for other connections to read, and a crash may lose some changes.
 */
export class TrigramCounts {
  readonly #write;
  readonly #revision;
  readonly #read;
  readonly #counts = new Uint32Array(slots);
  /** The sum of all counts; null until the first change, because only the connection that writes needs it. */
  #total: number | null = null;
  #unwritten = 0;
  /** The revision in the database; 0 for none. */
  #knownRevision = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#write = db.prepare(
      "INSERT OR REPLACE INTO search_statistics (id, revision, trigram_counts) VALUES (1, ?, ?)",
    );
    this.#revision = db.prepare<{ revision: number }, []>(
      "SELECT revision FROM search_statistics WHERE id = 1",
    );
    this.#read = db.prepare<{ trigram_counts: Uint8Array }, []>(
      "SELECT trigram_counts FROM search_statistics WHERE id = 1",
    );
  }

  /** Reads newer counts that another connection has written. */
  refresh(): void {
    const now = performance.now();
    if (now - this.#lookedAt < refreshMs) return;
    this.#lookedAt = now;
    const revision = this.#revision.get()?.revision ?? 0;
    if (revision === this.#knownRevision) return;
    this.#knownRevision = revision;
    const bytes = this.#read.get()?.trigram_counts;
    if (bytes?.byteLength !== this.#counts.byteLength) return;
    new Uint8Array(this.#counts.buffer).set(bytes);
  }

  #sum(): number {
    this.refresh();
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  of(trigram: string): number {
    const [first = "", second = "", third = ""] = trigram;
    return this.#counts[slotOf(pointOf(first), pointOf(second), pointOf(third))] ?? 0;
  }

  /** Adds 1 or -1 to the counts of the trigrams of a text. */
  add(text: string, by: 1 | -1): void {
    this.#total ??= this.#sum();
    let [first, second] = [-1, -1];
    for (let i = 0; i < text.length; ) {
      const third = text.codePointAt(i) ?? 0;
      i += third > 0xffff ? 2 : 1;
      if (first >= 0) {
        const slot = slotOf(first, second, third);
        this.#counts[slot] = Math.max(0, (this.#counts[slot] ?? 0) + by);
        this.#total += by;
        this.#unwritten++;
      }
      [first, second] = [second, third];
    }
  }

  /** Writes the counts if enough have changed. Call it inside a transaction. */
  keep(): void {
    if (this.#unwritten < Math.max(leastUnwritten, (this.#total ?? 0) / 20)) return;
    this.#write.run(++this.#knownRevision, new Uint8Array(this.#counts.buffer));
    this.#unwritten = 0;
  }
}

/** A user found by a search. */
export interface FoundUser extends Omit<UserSummary, "is_verified"> {
  readonly is_verified: number;
  readonly followers_count: number;
  readonly bucket: number;
}

/** A query uses at most this many trigrams, and no further ones after one that at most `fewUsers` have. */
const rarestTrigrams = 3;
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
  const entries = Array.from({ length: rarestTrigrams }, () =>
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
    return known.slice(0, enough === -1 ? rarestTrigrams : enough + 1);
  };

  function* having(wanted: readonly string[], work: SearchWork): Generator<FoundUser> {
    const rare = rarest(wanted);
    if (rare.length === 0) {
      for (const row of everyone.iterate()) {
        if (!work.spend("name")) return;
        yield row;
      }
      return;
    }
    const all = rare.reduce((sum, { users }) => sum + users, 0);
    const lists = rare.map(({ trigram }) => quoted(trigram));
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
