import type { Database } from "bun:sqlite";
import { fold } from "../../domain/text.ts";
import type { User, UserSummary } from "../../domain/users.ts";

/*
 * How the index is laid out. FTS5 hands out matches by ascending rowid at no cost, while sorting the matches of a
 * common trigram would read every one of them. So the rowid is made to follow the order of the answer:
 *
 *     rowid = bucket of the follower count (10 bits, more followers first) · id of the user (53 bits)
 *
 * Up to 256 followers a bucket is a single count, above that a sixteenth of an octave. A search reads matches in
 * rowid order until it has enough and the bucket ends, and sorts within the bucket by the exact count. A user moves
 * in the index only when the count leaves its bucket. Names are kept folded; a display name equal to the
 * username is left out.
 *
 * How it is written. FTS5 gathers rows in memory only while their rowids ascend, and writes what it has as a segment
 * of its own at each step back: so the rows of a batch are put in ascending order (half the time and the bytes).
 * Left to itself it then merges segments in bursts of up to 20 ms at a million users. Here it leaves that alone, and
 * each batch merges as much as it wrote, times the depth of the tree: 5 to 10 ms for a batch of 200.
 */

const exactBuckets = 256;
const bucketsPerOctave = 16;
const lastBucket = 1023;
const idBits = 53;

/** The place of a follower count in the order: 0 for the most followers. */
export function popularityBucket(followers: number): number {
  const rank =
    followers < exactBuckets
      ? followers
      : exactBuckets + Math.floor((Math.log2(followers) - Math.log2(exactBuckets)) * bucketsPerOctave);
  return lastBucket - Math.min(rank, lastBucket);
}

interface Row extends Omit<UserSummary, "is_verified"> {
  readonly is_verified: number;
  readonly followers_count: number;
  readonly bucket: number;
}

/** What the index holds of a user. */
export type Indexed = Pick<User, "id" | "username" | "display_name" | "followers_count">;

/** A user who was `before` (null: new) and is now `after`. */
export interface IndexChange {
  readonly before: Indexed | null;
  readonly after: Indexed;
}

export interface UserSearch {
  /** Brings the index up to date with some users, each named once. */
  update(changes: Iterable<IndexChange>): void;
  /** Forgets a user as the index holds it. */
  remove(user: Indexed): void;
  /** Users whose username or display name contains the query of three or more folded characters. */
  find(query: string, limit: number): UserSummary[];
}

/** No merging but ours; the crisis merge, which takes as long as it takes, only as a last resort. */
const indexSettings = { automerge: 0, usermerge: 8, crisismerge: 64 } as const;

/** Pages to merge after a batch; what a batch of 200 rows writes is some 8, and passes through 4 to 5 levels. */
const mergedPages = (rows: number) => 2 + Math.ceil(rows / 5);

function configureIndex(db: Database): void {
  const known = db.query<{ v: number }, [string]>("SELECT v FROM user_search_config WHERE k = ?");
  for (const [name, value] of Object.entries(indexSettings)) {
    if (known.get(name)?.v === value) continue;
    db.run("INSERT INTO user_search (user_search, rank) VALUES (?, ?)", [name, value]);
  }
}

export function userSearch(db: Database): UserSearch {
  configureIndex(db);
  const insert = db.prepare(
    `INSERT INTO user_search (rowid, username, display_name) VALUES ((?1 << ${idBits}) | ?2, ?3, ?4)`,
  );
  const remove = db.prepare(`DELETE FROM user_search WHERE rowid = (?1 << ${idBits}) | ?2`);
  const merge = db.prepare("INSERT INTO user_search (user_search, rank) VALUES ('merge', ?)");
  const columns = "u.id, u.username, u.display_name, u.profile_picture, u.is_verified, u.followers_count";
  const matches = db.prepare<Row, [string]>(
    `SELECT ${columns}, s.rowid >> ${idBits} AS bucket
     FROM user_search s CROSS JOIN users u ON u.id = s.rowid & ${2 ** idBits - 1}
     WHERE s.user_search MATCH ? ORDER BY s.rowid`,
  );
  const byName = db.prepare<Row, [string]>(
    `SELECT ${columns}, 0 AS bucket FROM users u WHERE u.username = ? COLLATE NOCASE`,
  );

  /** The first `limit` matches in exact order, without the ids in `seen`. */
  const best = (match: string, limit: number, seen: ReadonlySet<number>): Row[] => {
    const found: Row[] = [];
    if (limit === 0) return found;
    let bucketStart = 0;
    for (const row of matches.iterate(match)) {
      if (row.bucket !== found[bucketStart]?.bucket) {
        if (found.length >= limit) break;
        bucketStart = found.length;
      }
      // In a bucket of one single count the rowid order is already the exact one.
      if (found.length >= limit && row.bucket > lastBucket - exactBuckets) break;
      if (!seen.has(row.id)) found.push(row);
    }
    return found.sort((a, b) => b.followers_count - a.followers_count || a.id - b.id).slice(0, limit);
  };

  return {
    update(changes) {
      const inserts: { bucket: number; user: Indexed }[] = [];
      for (const { before, after } of changes) {
        const bucket = popularityBucket(after.followers_count);
        if (before) {
          const old = popularityBucket(before.followers_count);
          const same = before.username === after.username && before.display_name === after.display_name;
          if (same && old === bucket) continue;
          remove.run(old, before.id);
        }
        inserts.push({ bucket, user: after });
      }
      inserts.sort((a, b) => a.bucket - b.bucket || a.user.id - b.user.id);
      for (const { bucket, user } of inserts) {
        const username = fold(user.username);
        const displayName = fold(user.display_name);
        insert.run(bucket, user.id, username, displayName === username ? "" : displayName);
      }
      if (inserts.length > 0) merge.run(mergedPages(inserts.length));
    },

    remove({ id, followers_count }) {
      remove.run(popularityBucket(followers_count), id);
    },

    find(query, limit) {
      const text = fold(query);
      // No name contains one, and FTS5 would take it for the end of the query.
      if (text.includes("\0")) return [];
      const phrase = `"${text.replaceAll('"', '""')}"`;
      const exact = byName.all(text);
      const seen = new Set(exact.map((row) => row.id));
      const add = (rows: Row[]) => {
        for (const row of rows) seen.add(row.id);
        return rows;
      };
      const found = [...exact];
      found.push(...add(best(`username : ^ ${phrase}`, limit - found.length, seen)));
      found.push(...add(best(phrase, limit - found.length, seen)));
      return found.map(({ id, username, display_name, profile_picture, is_verified }) => ({
        id,
        username,
        display_name,
        profile_picture,
        is_verified: is_verified === 1,
      }));
    },
  };
}
