import type { Database } from "bun:sqlite";
import { codePoints, fold } from "../../domain/text.ts";
import type { SearchResult, User, UserSummary } from "../../domain/users.ts";
import { containedRuns, isShortText, type Run, runsOf, shortTextsOf } from "../search-texts.ts";
import {
  type FoundUser,
  idBits,
  popularityBucket,
  SearchWork,
  searchMatches,
  TrigramCounts,
  trigrams,
} from "./matches.ts";

/*
 * Layout of the index. FTS5 returns matches by ascending rowid at no cost, while sorting the matches of a common
 * trigram would read every one of them. So the rowid follows the order of the results:
 *
 *     rowid = bucket of the follower count (10 bits, more followers first) · id of the user (53 bits)
 *
 * Below 256 followers a bucket is a single count, above that a sixteenth of an octave. A search reads matches in rowid
 * order until it has enough and the bucket ends, and sorts each bucket by the exact count. A user moves in the index
 * only when the count leaves its bucket.
 *
 * Content. The index contains the trigrams of the folded names, without positions, which is smaller than with phrases
 * and faster to write. It also contains trigrams of private-use characters: one for the beginning of the username, some
 * for runs of the same character, because `0000000` has no other trigrams than `000`, and some for short texts. A
 * search reads the users with the rarest trigrams of its query and then compares their names. Further trigrams would
 * cost a lookup in each segment of the index, in lists of which nearly all entries are skipped.
 *
 * Writing. FTS5 collects rows in memory only while their rowids ascend, and else writes a segment. So the rows of a
 * batch are inserted in ascending order, which takes less time and space. By default it merges segments in long bursts.
 * This is turned off, and each batch merges some pages instead. A trigram costs a lookup in every segment, so segments
 * are merged in pairs, and all of them into one while no users change.
 */

/** The columns of a user that the index depends on. */
type Indexed = Pick<User, "id" | "username" | "display_name" | "followers_count">;

/** A change of one user. */
export interface IndexChange {
  /** null for a new user. */
  readonly before: Indexed | null;
  readonly after: Indexed;
}

interface UserSearch {
  /** Updates the index for some users, each of which occurs once. */
  update(changes: Iterable<IndexChange>): void;
  /** Removes a user, whose columns must be those that were indexed. */
  remove(user: Indexed): void;
  /**
   * Merges a part of the index, inside a transaction. Returns false when there is nothing to merge, or when users have
   * changed since the last call, because merging the whole index pays only if it then stays unchanged for a while.
   */
  tidy(): boolean;
  /** Finds users whose username or display name contains the query when all are folded. */
  find(query: string, limit: number): SearchResult;
}

/** Pages to merge after a batch. A batch of 200 rows writes about 4 pages, which pass through at most 10 levels. */
const mergedPages = (rows: number) => 2 + Math.ceil(rows / 10);

/** Pages merged by one call of `tidy`. */
const tidiedPages = 8;

/** If at most this many users have a trigram, all of them are read and ranked at once. */
const fewMatching = 32;

/** Matches a folded text that can be a username or the beginning of a username. */
const usernameLike = /^[a-z0-9_-]{1,64}$/;

/** Returns a trigram of private-use characters for the first three characters of a username; "" if it is shorter. */
function startOf(foldedUsername: string): string {
  if (foldedUsername.length < 3) return "";
  const shifted = (i: number) => String.fromCharCode(0xe000 + foldedUsername.charCodeAt(i));
  return shifted(0) + shifted(1) + shifted(2);
}

/** Returns the trigram of a run. Few characters share a trigram. */
function runTrigram({ character, length }: Run): string {
  const shifted = String.fromCodePoint(0xf0000 + ((character.codePointAt(0) ?? 0) & 0xffff));
  return `${shifted}\uf8ff${String.fromCharCode(0xe000 + length)}`;
}

/** Returns the trigram of a short text of `shortTextsOf`. */
const shortTrigram = (text: string) => "\uf8fe".repeat(3 - codePoints(text)) + text;

/** Returns the trigrams that every name has which contains a text; none for a short text that is not indexed. */
function trigramsOf(text: string): string[] {
  if (isShortText(text)) return [shortTrigram(text)];
  return [...new Set([...trigrams(text), ...[...runsOf(text)].map(runTrigram)])];
}

/** Returns the columns of the index. */
function indexedTexts({ username, display_name }: Indexed): readonly [string, string, string] {
  const name = fold(username);
  const displayName = fold(display_name);
  const more = displayName === name ? "" : displayName;
  const runs = [...containedRuns(name), ...containedRuns(more)];
  const short = [...shortTextsOf(more)].map(shortTrigram);
  return [name, more, startOf(name) + runs.map(runTrigram).join("") + short.join("")];
}

const startsWith = (row: FoundUser, text: string) => fold(row.username).startsWith(text);

const contains = (row: FoundUser, text: string) =>
  fold(row.username).includes(text) || fold(row.display_name).includes(text);

function summary({ id, username, display_name, profile_picture, is_verified }: FoundUser): UserSummary {
  return { id, username, display_name, profile_picture, is_verified: is_verified === 1 };
}

export function userSearch(db: Database): UserSearch {
  const counts = new TrigramCounts(db);
  const insert = db.prepare(
    `INSERT INTO user_search (rowid, username, display_name, start) VALUES ((?1 << ${idBits}) | ?2, ?3, ?4, ?5)`,
  );
  const remove = db.prepare(`DELETE FROM user_search WHERE rowid = (?1 << ${idBits}) | ?2`);
  const merge = db.prepare("INSERT INTO user_search (user_search, rank) VALUES ('merge', ?)");
  const { best } = searchMatches(db, counts);
  const byName = db.prepare<FoundUser, [string]>(
    `SELECT id, username, display_name, profile_picture, is_verified, followers_count, 0 AS bucket
     FROM users WHERE username = ? COLLATE NOCASE`,
  );

  const changesSoFar = db.prepare<{ changes: number }, []>("SELECT total_changes() AS changes");
  let state: "changed" | "quiet" | "tidying" | "tidy" = "quiet";
  const begin = db.prepare("BEGIN");
  const end = db.prepare("COMMIT");

  const update = (changes: Iterable<IndexChange>): void => {
    const inserts: { bucket: number; user: Indexed }[] = [];
    for (const { before, after } of changes) {
      const bucket = popularityBucket(after.followers_count);
      if (before) {
        const old = popularityBucket(before.followers_count);
        const same = before.username === after.username && before.display_name === after.display_name;
        if (same && old === bucket) continue;
        forget(before);
      }
      inserts.push({ bucket, user: after });
    }
    inserts.sort((a, b) => a.bucket - b.bucket || a.user.id - b.user.id);
    for (const { bucket, user } of inserts) {
      const texts = indexedTexts(user);
      insert.run(bucket, user.id, ...texts);
      for (const text of texts) counts.add(text, 1);
    }
    if (inserts.length === 0) return;
    merge.run(mergedPages(inserts.length));
    counts.keep();
    state = "changed";
  };

  const forget = (user: Indexed): void => {
    remove.run(popularityBucket(user.followers_count), user.id);
    for (const text of indexedTexts(user)) counts.add(text, -1);
    state = "changed";
  };

  const tidy = (): boolean => {
    if (state === "changed") state = "quiet";
    else if (state !== "tidy") {
      const before = changesSoFar.get()?.changes ?? 0;
      // A negative number starts a merge of all segments, whatever their size. Further calls continue it.
      merge.run(state === "quiet" ? -tidiedPages : tidiedPages);
      const changes = (changesSoFar.get()?.changes ?? 0) - before;
      state = changes < 2 ? "tidy" : "tidying";
    }
    return state === "tidying";
  };

  /** Sorts users by the class of the order. */
  const sorted = (found: FoundUser[], text: string): FoundUser[] => {
    const rank = ({ username }: FoundUser) => {
      const name = fold(username);
      return name === text ? 0 : name.startsWith(text) ? 1 : 2;
    };
    return found.sort((a, b) => rank(a) - rank(b));
  };

  /** Returns all users that contain the text if they are few, with one lookup in the index; else null. */
  const fewMatches = (text: string, having: readonly string[], work: SearchWork): FoundUser[] | null => {
    if (having.every((trigram) => counts.of(trigram) > fewMatching)) return null;
    const all = best(having, 2 * fewMatching, (row) => contains(row, text), work);
    return all.length === 2 * fewMatching ? null : sorted(all, text);
  };

  /**
   * Reads the most popular users, and those with exactly this name, for a text that is too short for the index. Others
   * that contain it are not found among very many users.
   */
  const shortMatches = (text: string, limit: number, work: SearchWork): FoundUser[] => {
    const exact = usernameLike.test(text) ? byName.all(text) : [];
    work.keepHalf();
    const isNamed = (row: FoundUser) => row.id !== exact[0]?.id && fold(row.display_name) === text;
    const named = best([shortTrigram(text)], limit, isNamed, work);
    work.useAll();
    const isOther = (row: FoundUser) => row.id !== exact[0]?.id && contains(row, text);
    const popular = best([], Number.POSITIVE_INFINITY, isOther, work);
    const seen = new Set(popular.map(({ id }) => id));
    // Those that are not among the most popular follow them in the order.
    return [...exact, ...sorted([...popular, ...named.filter(({ id }) => !seen.has(id))], text)];
  };

  const manyMatches = (
    text: string,
    having: readonly string[],
    limit: number,
    work: SearchWork,
  ): FoundUser[] => {
    const found: FoundUser[] = [];
    const seen = new Set<number>();
    const take = (rows: FoundUser[]) => {
      for (const row of rows) seen.add(row.id);
      found.push(...rows);
    };
    if (usernameLike.test(text)) {
      take(byName.all(text));
      const starts = [startOf(text), ...having];
      work.keepHalf();
      take(best(starts, limit - found.length, (row) => !seen.has(row.id) && startsWith(row, text), work));
    }
    work.useAll();
    take(best(having, limit - found.length, (row) => !seen.has(row.id) && contains(row, text), work));
    return found;
  };

  const find = (query: string, limit: number): SearchResult => {
    const text = fold(query);
    const having = trigramsOf(text);
    // No name contains U+0000, and FTS5 would treat it as the end of the query.
    if (text.includes("\0") || text === "") return { users: [], isComplete: true };
    const work = new SearchWork();
    // One transaction, because SQLite would otherwise acquire and release its lock for each statement.
    begin.run();
    try {
      counts.refresh();
      const found =
        having.length === 0
          ? shortMatches(text, limit, work)
          : (fewMatches(text, having, work) ?? manyMatches(text, having, limit, work));
      return { users: found.slice(0, limit).map(summary), isComplete: !work.isCutOff };
    } finally {
      end.run();
    }
  };

  return { update, remove: forget, tidy, find };
}

const rebuiltAtOnce = 5_000;

/**
 * Fills the search index from all users, in one transaction. Each step yields the number of users in the index. A
 * caller that stops early leaves the index unchanged.
 */
export function* fillingSearch(db: Database): Generator<number> {
  const next = db.query<Indexed, [number, number]>(
    "SELECT id, username, display_name, followers_count FROM users WHERE id > ? ORDER BY id LIMIT ?",
  );
  db.run("BEGIN IMMEDIATE");
  try {
    db.run("INSERT INTO user_search (user_search) VALUES ('delete-all')");
    db.run("DELETE FROM search_statistics");
    const { update } = userSearch(db);
    let indexed = 0;
    for (let users = next.all(0, rebuiltAtOnce); users.length > 0; ) {
      update(users.map((after) => ({ before: null, after })));
      indexed += users.length;
      yield indexed;
      users = next.all(users.at(-1)?.id ?? 0, rebuiltAtOnce);
    }
    db.run("COMMIT");
  } finally {
    if (db.inTransaction) db.run("ROLLBACK");
  }
}
