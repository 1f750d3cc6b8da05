import { fold } from "../domain/text.ts";
import { minute } from "../domain/time.ts";
import type { User, UserStore, UserSummary } from "../domain/users.ts";
import { once } from "../runtime/lazily.ts";
import { containedRuns, isShortText, type Run, runsOf, shortTextsOf } from "../store/search-texts.ts";
import type { Postgres, Queries } from "./pool.ts";

/** Separates the folded names of a user. No name contains it. */
const separator = "\n";

/** Returns the names of a user as the search compares them, username first. */
export function foldedNames({ username, display_name }: Pick<User, "username" | "display_name">): string {
  const [name, displayName] = [fold(username), fold(display_name)];
  return displayName === name ? name + separator : name + separator + displayName;
}

/** Returns the text to search for; null when no name can contain it. */
function searchedText(query: string): string | null {
  const text = fold(query);
  return text === "" || text.includes(separator) || text.includes("\0") ? null : text;
}

/** The kinds of terms, which are a part of their hashes. */
const [trigram, beginning, run, short] = [1, 2, 3, 4];

/** Returns the indexed terms of folded names. They include `termsIn` of every text that the names contain. */
export function termsOf(names: string): number[] {
  const [name = "", displayName = ""] = names.split(separator);
  const found = new Set<number>();
  for (const text of [name, displayName]) {
    addTrigrams(text, found);
    for (const one of containedRuns(text)) found.add(ofRun(one));
    for (const one of shortTextsOf(text)) found.add(shortTerm(one));
  }
  found.add(beginningTerm(name));
  return [...found];
}

/** Returns the terms that every name has which contains the text; none for a short text that is not indexed. */
function termsIn(text: string): number[] {
  if (isShortText(text)) return [shortTerm(text)];
  const found = new Set<number>();
  addTrigrams(text, found);
  for (const one of runsOf(text)) found.add(ofRun(one));
  return [...found];
}

/** Returns the term that every username has which begins with the text. */
function beginningTerm(text: string): number {
  return hash(beginning, pointsOf(text).slice(0, 3));
}

function addTrigrams(text: string, to: Set<number>): void {
  const points = pointsOf(text);
  for (let i = 2; i < points.length; i++) to.add(hash(trigram, points.slice(i - 2, i + 1)));
}

const shortTerm = (text: string) => hash(short, pointsOf(text));

const ofRun = ({ character, length }: Run) => hash(run, [character.codePointAt(0) ?? 0, length]);

const pointsOf = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0);

/** Returns a 32-bit integer, which takes less space than text. Collisions do no harm, because names are compared. */
function hash(kind: number, numbers: readonly number[]): number {
  let mixed = 0x811c9dc5 ^ kind;
  for (const number of numbers) mixed = Math.imul(mixed ^ number, 0x01000193);
  return mixed ^ (mixed >>> 15);
}

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
class TermFrequencies {
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

/*
 * There are two ways to search. The index of terms (GIN) returns all users with the terms of the query, unordered,
 * which is good for rare terms. A walk along the index of popularity stops when it has found enough users, which is
 * good when many users match. PostgreSQL's statistics of the terms decide. `pg_trgm` is not used, because it has no
 * trigrams of characters that are not letters or digits in the locale of the database.
 */

const columns = "u.id::float8, u.username, u.display_name, u.profile_picture, u.is_verified";
const order = "u.followers_count DESC, u.id";

/** The most users with the terms of a query that the index of terms is used for. */
const mostCandidates = 20_000;
/** Up to this many candidates are all read at once, because a second query would cost more. */
const alwaysRead = 300;

/**
 * $1: the terms, $2: the text, $3 and $4: patterns that names must and must not match, $5: the limit. The candidates
 * are all users with the terms. If there are more than $7, only the $6 most popular are read, because reading users
 * costs the most, with all that are as popular as the last one, so that no user left out has more followers. The ids
 * are passed as an array, because the planner might otherwise read the whole table.
 */
const byTerms = `
WITH candidates AS MATERIALIZED (
  SELECT user_id, popularity FROM user_search WHERE terms @> $1::int4[] LIMIT ${mostCandidates}
), counts AS MATERIALIZED (
  SELECT count(*)::float8 AS candidates FROM candidates
), popular AS MATERIALIZED (
  SELECT user_id FROM candidates ORDER BY popularity DESC
  FETCH FIRST (SELECT CASE WHEN candidates > $7 THEN $6 ELSE $7 END FROM counts) ROWS WITH TIES
)
SELECT found.*, counts.candidates, (SELECT count(*)::float8 FROM popular) AS read FROM counts LEFT JOIN LATERAL (
  SELECT ${columns}, CASE WHEN starts_with(u.folded, $2 || E'\\n') THEN 0 WHEN starts_with(u.folded, $2) THEN 1 ELSE 2 END AS rank
  FROM users u WHERE u.id = ANY(ARRAY(SELECT user_id FROM popular)) AND u.folded LIKE $3 AND u.folded NOT LIKE $4
  ORDER BY rank, ${order} LIMIT $5
) AS found ON true`;

/**
 * $1 and $2: patterns that names must and must not match, $3: the limit, $4: how many users are read, $5 and $6:
 * followers and id of the user after whom the walk begins.
 */
const byWalk = `
SELECT ${columns}, u.followers_count::float8 AS followers FROM (
  SELECT id FROM (
    SELECT id, folded FROM users WHERE followers_count <= $5 AND (followers_count < $5 OR id > $6)
    ORDER BY followers_count DESC, id LIMIT $4
  ) AS popular
  WHERE folded LIKE $1 AND folded NOT LIKE $2
  LIMIT $3
) AS chosen JOIN users u ON u.id = chosen.id ORDER BY ${order}`;

const byName = `SELECT ${columns} FROM users u WHERE lower(u.username COLLATE "C") = $1`;

const longestWalk = 200_000;
/** The cost of the index of terms per user with the rarest term, in steps of a walk (`tests/bench/search.ts`). */
const candidateCost = 4;

/** `LIKE` patterns that folded names must match and must not match, for one class of the order. */
type Patterns = readonly [having: string, not: string];
const anywhere = (text: string): Patterns => [`%${literally(text)}%`, ""];
const atBeginning = (text: string): Patterns => [`${literally(text)}%`, ""];
const later = (text: string): Patterns => [`%${literally(text)}%`, `${literally(text)}%`];
const literally = (text: string) => text.replace(/[\\%_]/g, "\\$&");

/** Statistics are collected again after changes of this percentage of all rows plus this number of rows. */
const [changedPercent, changedRows] = [10, 1_000];

interface Found extends UserSummary {
  readonly rank: number;
  readonly candidates: number;
  /** How many of the candidates were read. */
  readonly read: number;
}

interface Walked extends UserSummary {
  readonly followers: number;
}

/** The position before the most popular user. */
const beforeAll = { followers: Number.MAX_SAFE_INTEGER, id: -1 };

/** The users of one class of the order. */
interface Some {
  readonly rows: readonly UserSummary[];
  readonly isComplete: boolean;
}

/** The search over users. */
export function userSearch(db: Postgres): Pick<UserStore, "search" | "tidySearch"> {
  const frequencies = once(() => new TermFrequencies(db));

  /** Whether the index of terms is cheaper than a walk for these terms. */
  const areFew = (terms: readonly number[], limit: number) => {
    const candidates = frequencies().ofAll(terms);
    return candidates < 100 || candidates * candidateCost <= (limit * frequencies().users) / candidates;
  };

  /**
   * Returns fewer terms, because each one costs. Every third trigram covers the text, and names are compared anyway.
   */
  const enough = (terms: readonly number[]) => {
    const rarest = frequencies().rarestOf(terms);
    return terms.filter((term, i) => i % 3 === 0 || i === terms.length - 1 || term === rarest);
  };

  /** Searches by the index of terms. Null if there are too many candidates. `isComplete`: all candidates were read. */
  const ofTerms = async (
    terms: readonly number[],
    text: string,
    patterns: Patterns,
    limit: number,
    few = alwaysRead,
  ) => {
    const popular = Math.ceil(1.5 * limit); // some have the terms, but not the text
    const rows = await db.run<Found>(byTerms, [enough(terms), text, ...patterns, limit, popular, few]);
    const { candidates = 0, read = 0 } = rows[0] ?? {};
    if (candidates >= mostCandidates) return null;
    return { rows: rows.filter(({ id }) => id !== null), isComplete: read === candidates };
  };

  /** Searches one class of the order by the index of terms. */
  const someOfTerms = async (terms: readonly number[], text: string, patterns: Patterns, limit: number) => {
    if (limit <= 0) return { rows: [], isComplete: true };
    const popular = await ofTerms(terms, text, patterns, limit);
    if (!popular || popular.isComplete || popular.rows.length === limit) return popular;
    return ofTerms(terms, text, patterns, limit, mostCandidates);
  };

  /**
   * Searches one class of the order by a walk. The statistics only estimate how many users match, so a first, short
   * walk measures it. If the index of terms is cheaper, the result is not complete.
   */
  const walked = async (terms: readonly number[], patterns: Patterns, limit: number): Promise<Some> => {
    if (limit <= 0) return { rows: [], isComplete: true };
    const { users } = frequencies();
    const walk = (left: number, steps: number, last = beforeAll) =>
      db.run<Walked>(byWalk, [...patterns, left, steps, last.followers, last.id]);
    const most = Math.max(1, frequencies().ofAll(terms));
    const steps =
      1_000 + Math.ceil(Math.min(longestWalk, (1.25 * limit * users) / most, most * candidateCost));
    const rows = await walk(limit, steps);
    if (rows.length === limit || steps >= users) return { rows, isComplete: true };
    const matches = (Math.max(1, rows.length) * users) / steps;
    const needed = Math.ceil((2 * limit * users) / matches);
    if (needed > Math.min(longestWalk, Math.max(most, matches) * candidateCost))
      return { rows, isComplete: false };
    const more = await walk(limit - rows.length, needed, rows.at(-1));
    const seen = new Set(rows.map(({ id }) => id)); // follower counts may change between the two walks
    const all = [...rows, ...more.filter(({ id }) => !seen.has(id))];
    return { rows: all, isComplete: all.length === limit || needed >= users };
  };

  const named = (text: string) => db.run<UserSummary>(byName, [text]);

  /** Searches all classes by the index of terms. Null if there are too many candidates. */
  const searchTerms = async (terms: readonly number[], text: string, limit: number) => {
    const popular = await ofTerms(terms, text, anywhere(text), limit);
    if (!popular || popular.isComplete) return popular?.rows ?? null;
    const exact = await named(text);
    const first = await someOfTerms([beginningTerm(text), ...terms], text, atBeginning(text), limit);
    const beginning = joined(exact, first?.rows ?? []);
    let others: readonly UserSummary[] | undefined = popular.rows.filter(({ rank }) => rank === 2);
    if (beginning.length + others.length < limit) {
      others = (await ofTerms(terms, text, later(text), limit - beginning.length, mostCandidates))?.rows;
    }
    return first && others ? [...beginning, ...others].slice(0, limit) : null;
  };

  /** Searches all classes by walks. */
  const searchAlong = async (terms: readonly number[], text: string, limit: number): Promise<Some> => {
    const exact = await named(text);
    const beginning = [beginningTerm(text), ...terms];
    const few = areFew(beginning, limit)
      ? await someOfTerms(beginning, text, atBeginning(text), limit)
      : null;
    const first = few ? { ...few, isComplete: true } : await walked(beginning, atBeginning(text), limit);
    const rows = joined(exact, first.rows);
    const others = first.isComplete ? await walked(terms, later(text), limit - rows.length) : null;
    const all = [...rows, ...(others?.rows ?? [])];
    return { rows: all.slice(0, limit), isComplete: others?.isComplete === true || all.length >= limit };
  };

  /**
   * Searches all classes by walks, and users with exactly this name by the index, for a text that is too short for the
   * index of terms.
   */
  const searchShort = async (text: string, limit: number): Promise<Some> => {
    const walk = (patterns: Patterns, left: number) =>
      db.run<Walked>(byWalk, [...patterns, left, longestWalk, beforeAll.followers, beforeAll.id]);
    const first = joined(await named(text), await walk(atBeginning(text), limit));
    const others = first.length < limit ? await walk(later(text), limit - first.length) : [];
    const rows = joined(first, others).slice(0, limit);
    const isComplete = first.length >= limit || frequencies().users <= longestWalk;
    if (isComplete || rows.length === limit) return { rows, isComplete };
    const whole: Patterns = [`%${separator}${literally(text)}`, ""];
    const more = (await ofTerms([shortTerm(text)], text, whole, limit))?.rows ?? [];
    // Those that the walks did not reach follow the others in the order.
    const beginning = more.filter(({ rank }) => rank < 2);
    const all = new Map([...first, ...beginning, ...others, ...more].map((user) => [user.id, user]));
    return { rows: [...all.values()].slice(0, limit), isComplete: false };
  };

  return {
    async search(query, limit) {
      const text = searchedText(query);
      if (text === null) return { users: [], isComplete: true };
      const terms = termsIn(text);
      await frequencies().refresh();
      if (terms.length === 0) {
        const { rows, isComplete } = await searchShort(text, limit);
        return { users: rows.map(summary), isComplete };
      }
      const few = areFew(terms, limit) ? await searchTerms(terms, text, limit) : null;
      if (few) return { users: few.map(summary), isComplete: true };
      const { rows, isComplete } = await searchAlong(terms, text, limit);
      // If walking was too long, each term is common, but few users have all of them.
      const all = isComplete ? null : await searchTerms(terms, text, limit);
      return { users: (all ?? rows).map(summary), isComplete: isComplete || all !== null };
    },
    async tidySearch() {
      const [table] = await db.run<{ is_old: boolean }>(
        `SELECT n_mod_since_analyze > ${changedRows} + n_live_tup * ${changedPercent} / 100 AS is_old
         FROM pg_stat_user_tables WHERE relid = to_regclass('user_search')`,
      );
      if (table?.is_old) await db.run("ANALYZE user_search");
      return false;
    },
  };
}

function summary({ id, username, display_name, profile_picture, is_verified }: UserSummary): UserSummary {
  return { id, username, display_name, profile_picture, is_verified };
}

/** Joins the user with exactly the name and the others. */
function joined(exact: readonly UserSummary[], others: readonly UserSummary[]): UserSummary[] {
  return [...exact, ...others.filter(({ id }) => id !== exact[0]?.id)];
}
