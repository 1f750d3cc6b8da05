import { once } from "../../../domain/lazily.ts";
import type { UserSummary } from "../../../domain/users.ts";
import type { UserStore } from "../../users.ts";
import type { Postgres } from "../database/pool.ts";
import { TermFrequencies } from "./frequencies.ts";
import { beginningTerm, searchedText, termsIn } from "./terms.ts";

/*
 * A search is answered in one of two ways. By the index of terms (GIN), which gives all who have the terms of the query, in
 * no order: good where they are few. Or by a walk along the index of popularity, which stops when it has found enough: good
 * where many contain the query. PostgreSQL's statistics of the terms tell which. `pg_trgm` is not used: which characters it
 * takes for letters depends on the locale of the database, and of other characters it has no trigrams.
 */

const shown = "u.id::float8, u.username, u.display_name, u.profile_picture, u.is_verified";
const order = "u.followers_count DESC, u.id";

/** $1: the terms, $2: the text, $3: the limit. No more candidates are looked at than this. */
const mostCandidates = 20_000;
const byTerms = (isBeginning: boolean) => `
WITH candidates AS MATERIALIZED (
  SELECT user_id FROM user_search WHERE terms @> $1::int4[] LIMIT ${mostCandidates}
)
SELECT found.*, total.candidates FROM (SELECT count(*)::float8 AS candidates FROM candidates) AS total
LEFT JOIN LATERAL (
  SELECT ${shown}, CASE WHEN starts_with(u.folded, $2 || E'\\n') THEN 0 WHEN starts_with(u.folded, $2) THEN 1 ELSE 2 END AS rank
  FROM candidates c JOIN users u ON u.id = c.user_id
  WHERE ${isBeginning ? "starts_with(u.folded, $2)" : "strpos(u.folded, $2) > 0"}
  ORDER BY rank, ${order} LIMIT $3
) AS found ON true`;

/** $1: the text, $2: the limit, $3: how many are looked at. */
const byWalk = (isBeginning: boolean) => `
SELECT ${shown} FROM (
  SELECT id FROM (
    SELECT id, folded FROM users ORDER BY followers_count DESC, id LIMIT $3
  ) AS popular
  WHERE ${isBeginning ? "starts_with(folded, $1)" : "strpos(folded, $1) > 1"}
  LIMIT $2
) AS chosen JOIN users u ON u.id = chosen.id ORDER BY ${order}`;

const byName = `SELECT ${shown} FROM users u WHERE lower(u.username COLLATE "C") = $1`;

const longestWalk = 200_000;
/** What looking at a candidate costs, in steps of a walk (`bun tests/bench/search.ts --postgres`). */
const candidateCost = 20;

/** Changed rows in a hundred, and at least, after which the statistics are made anew. */
const [changedPercent, changedRows] = [10, 1_000];

interface Found extends UserSummary {
  readonly candidates: number;
}

/** The search over users. */
export function userSearch(db: Postgres): Pick<UserStore, "search" | "tidySearch"> {
  const frequencies = once(() => new TermFrequencies(db));

  /** Whether the index of terms is the better way for those who have all of these. */
  const areFew = (terms: readonly number[], limit: number) => {
    const candidates = frequencies().ofAll(terms);
    return candidates < 100 || candidates * candidateCost <= (limit * frequencies().users) / candidates;
  };

  /** Null where there are too many candidates. */
  const ofTerms = async (terms: readonly number[], text: string, limit: number, isBeginning: boolean) => {
    const rows = await db.run<Found>(byTerms(isBeginning), [terms, text, limit]);
    if ((rows[0]?.candidates ?? 0) >= mostCandidates) return null;
    return rows.filter(({ id }) => id !== null);
  };

  /**
   * In the order of popularity, until there are enough. The terms together are rarer than the rarest of them alone, so a
   * first walk tells how long it takes, or that the index of terms is the better way: then it is not complete.
   */
  const walked = async (terms: readonly number[], text: string, limit: number, isBeginning: boolean) => {
    if (limit <= 0) return { rows: [], isComplete: true };
    const { users } = frequencies();
    const walk = (steps: number) => db.run<UserSummary>(byWalk(isBeginning), [text, limit, steps]);
    const most = Math.max(1, frequencies().ofAll(terms));
    const steps = 1_000 + Math.ceil(Math.min(longestWalk, (2 * limit * users) / most, most * candidateCost));
    const rows = await walk(steps);
    if (rows.length === limit || steps >= users) return { rows, isComplete: true };
    const matches = (Math.max(1, rows.length) * users) / steps;
    const needed = Math.ceil((2 * limit * users) / matches);
    if (needed > Math.min(longestWalk, matches * candidateCost)) return { rows, isComplete: false };
    const more = await walk(needed);
    return { rows: more, isComplete: more.length === limit || needed >= users };
  };

  /** One class of the order, in the better way. */
  const some = async (terms: readonly number[], text: string, limit: number, isBeginning: boolean) => {
    const few = areFew(terms, limit) ? await ofTerms(terms, text, limit, isBeginning) : null;
    return few ? { rows: few, isComplete: true } : walked(terms, text, limit, isBeginning);
  };

  return {
    async search(query, limit) {
      const text = searchedText(query);
      if (text === null) return { users: [], isComplete: true };
      const terms = termsIn(text);
      await frequencies().refresh();
      if (areFew(terms, limit)) {
        const all = await ofTerms(terms, text, limit, false);
        if (all) return { users: all.map(summary), isComplete: true };
      }
      const exact = await db.run<UserSummary>(byName, [text]);
      const beginning = [beginningTerm(text), ...terms];
      const first = await some(beginning, text, limit, true);
      const taken = new Set([...exact, ...first.rows].map(({ id }) => id));
      const others = first.isComplete ? await walked(terms, text, limit - taken.size, false) : null;
      const users = [
        ...exact,
        ...first.rows.filter(({ id }) => id !== exact[0]?.id),
        ...(others?.rows ?? []),
      ];
      const isComplete = others?.isComplete === true || users.length >= limit;
      // Each term is common, but not all of them together.
      const all = isComplete ? null : await ofTerms(terms, text, limit, false);
      if (all) return { users: all.map(summary), isComplete: true };
      return { users: users.slice(0, limit).map(summary), isComplete };
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
