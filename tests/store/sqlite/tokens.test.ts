import { expect, test } from "bun:test";
import { appTokensKept } from "../../../src/domain/tokens.ts";
import { migrate } from "../../../src/store/sqlite/database/migrations.ts";
import { databaseBefore } from "../../support/migrated.ts";

test("a database from before tokens were bounded keeps the newest of each application, and all of users", () => {
  const db = databaseBefore("_access_bounds");
  db.run("PRAGMA foreign_keys = OFF");
  for (const of of ["few", "many"]) {
    db.run(
      `INSERT INTO applications (id, name, webhook_secret, scopes, redirect_uris, created_at, updated_at, client_secret_hash)
       VALUES (?, '', '', '[]', '[]', '', '', x'')`,
      [of],
    );
  }
  db.run("INSERT INTO users VALUES (1001, 'a', 'a', '', NULL, 0, 0, 0, '')");
  const insert = db.prepare(
    `INSERT INTO tokens (hash, application_id, user_id, scopes, expires_at)
     SELECT randomblob(32), ?1, ?2, '[]', -key FROM json_each(?3)`,
  );
  const rows = (count: number) => JSON.stringify(new Array(count).fill(0));
  insert.run("many", null, rows(appTokensKept + 5));
  insert.run("few", null, rows(3));
  insert.run("many", 1001, rows(appTokensKept + 5));
  migrate(db);
  const left = db
    .query(
      "SELECT application_id, user_id, count(*), max(expires_at) FROM tokens GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .values();
  expect(left).toEqual([
    ["few", null, 3, 0],
    // Made first were those that expire last.
    ["many", null, appTokensKept, -5],
    ["many", 1001, appTokensKept + 5, 0],
  ]);
  db.close();
});
