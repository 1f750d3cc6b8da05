import type { Database } from "bun:sqlite";
import { type Indexed, userSearch } from "./search.ts";

/**
 * Turns automatic merges off, because each batch merges some pages. The unbounded crisis merge is only a last resort.
 */
const indexSettings = { automerge: 0, usermerge: 2, crisismerge: 64 } as const;

function configureIndex(db: Database): void {
  const known = db.query<{ v: number }, [string]>("SELECT v FROM user_search_config WHERE k = ?");
  for (const [name, value] of Object.entries(indexSettings)) {
    if (known.get(name)?.v === value) continue;
    db.run("INSERT INTO user_search (user_search, rank) VALUES (?, ?)", [name, value]);
  }
}

const rebuiltAtOnce = 5_000;

/** Whether the index is empty although there are users, as after a migration to a new layout. */
export function searchIsUnfilled(db: Database): boolean {
  const isFilled = db.query("SELECT 1 FROM user_search_docsize LIMIT 1").get() !== null;
  return !isFilled && db.query("SELECT 1 FROM users LIMIT 1").get() !== null;
}

/**
 * Configures the search index and fills it if it is empty. The connection that writes calls this before all other uses.
 * Filling takes long with many users, and is one transaction.
 */
export function prepareSearch(db: Database): void {
  for (const _ of fillingSearch(db));
}

/**
 * Does the same in steps, each of which yields the number of users in the index. `anew` empties the index first. A
 * caller that stops early leaves it unchanged.
 */
export function* fillingSearch(db: Database, { anew = false } = {}): Generator<number> {
  configureIndex(db);
  if (!anew && !searchIsUnfilled(db)) return;
  const next = db.query<Indexed, [number, number]>(
    "SELECT id, username, display_name, followers_count FROM users WHERE id > ? ORDER BY id LIMIT ?",
  );
  db.run("BEGIN IMMEDIATE");
  try {
    if (anew) {
      db.run("INSERT INTO user_search (user_search) VALUES ('delete-all')");
      db.run("DELETE FROM search_statistics");
    }
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
