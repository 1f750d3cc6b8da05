import type { Database } from "bun:sqlite";
import { type Indexed, userSearch } from "./search.ts";

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
