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

type Indexed = Pick<User, "id" | "username" | "display_name" | "followers_count">;

export interface UserSearch {
  /** Brings the index up to date with a user who was `before` (null: new). */
  update(before: Indexed | null, after: Indexed): void;
  /** Users whose username or display name contains the query of three or more folded characters. */
  find(query: string, limit: number): UserSummary[];
}

export function userSearch(db: Database): UserSearch {
  const insert = db.prepare(
    `INSERT INTO user_search (rowid, username, display_name) VALUES ((?1 << ${idBits}) | ?2, ?3, ?4)`,
  );
  const remove = db.prepare(`DELETE FROM user_search WHERE rowid = (?1 << ${idBits}) | ?2`);
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
    update(before, after) {
      const bucket = popularityBucket(after.followers_count);
      if (before) {
        const old = popularityBucket(before.followers_count);
        const same = before.username === after.username && before.display_name === after.display_name;
        if (same && old === bucket) return;
        remove.run(old, before.id);
      }
      const username = fold(after.username);
      const displayName = fold(after.display_name);
      insert.run(bucket, after.id, username, displayName === username ? "" : displayName);
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
