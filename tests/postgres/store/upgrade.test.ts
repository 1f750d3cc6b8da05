import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appliedSteps, migrateDatabase, schemaSteps } from "../../../src/postgres/migrations.ts";
import { openPool, type Postgres } from "../../../src/postgres/pool.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { expectFailure, run } from "../../support/process.ts";
import { startServer } from "../../support/server.ts";

/*
 * A version beside the one before it on one database. Here the older one is this one, and the newer one has more
 * migrations.
 */

const second = {
  name: "9000_second",
  sql: `ALTER TABLE users ADD COLUMN motto text NOT NULL DEFAULT 'hello';
--> statement-breakpoint
ALTER TABLE users RENAME COLUMN bio TO about`,
};

describe.skipIf(!hasPostgres)("a newer version", () => {
  let url: string;
  let newer: Postgres;
  const undo: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    const database = await emptyDatabase();
    url = database.url;
    newer = openPool(readDatabaseUrl(url), { connections: 1, statementTimeoutMs: 0 });
    undo.push(database.drop, () => newer.close());
  });
  afterEach(async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  });

  test("is refused until the older ones are stopped, then keeps the data, and the older one is refused", async () => {
    const older = await startServer({ env: { ONAIR_DATA: undefined, ONAIR_DATABASE: url } });
    undo.push(() => older.stop());
    await older.load("users", [{ id: 1001, username: "ada" }]);
    await expect(migrateDatabase(newer, [...schemaSteps, second])).rejects.toThrow(
      "A server of an earlier version uses the database, or ended within the last seconds: stop all of them, and start this one again.",
    );
    expect(await appliedSteps(newer)).toBe(schemaSteps.length);
    const { token } = await older.application();
    expect((await older.get("/public/v1/users/ada", token)).status).toBe(200);
    await older.stop();

    const steps = [...schemaSteps, second];
    const names: string[] = [];
    await migrateDatabase(newer, steps, (name) => names.push(name));
    await migrateDatabase(newer, steps, (name) => names.push(name));
    expect(names).toEqual([second.name]);
    expect(await newer.run("SELECT username, motto, about FROM users")).toEqual([
      { username: "ada", motto: "hello", about: "" },
    ]);
    for (const args of [["serve", "--port", "0", "--admin-port", "0"], ["migrate"]]) {
      const refused = await run(args, { env: { ONAIR_DATABASE: url } });
      expectFailure(refused, 2, "its migration 9000_second is unknown here). Use that version.");
    }
  });

  test("applies all of its migrations or none", async () => {
    const broken = { name: "9001_broken", sql: "ALTER TABLE nowhere ADD COLUMN x text" };
    await expect(migrateDatabase(newer, [...schemaSteps, second, broken])).rejects.toThrow("nowhere");
    expect(await appliedSteps(newer)).toBe(schemaSteps.length);
    expect(await newer.run("SELECT bio FROM users")).toEqual([]);
  });
});
