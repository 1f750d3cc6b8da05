import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { administer, bareDatabase, hasPostgres } from "../../support/postgres.ts";
import { ownProcess } from "../../support/process.ts";
import { event } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownDirectory } from "../../support/server.ts";

/*
 * A replica whose connections all wait, as on an overloaded database, keeps its lease, and hears the others.
 */

setDefaultTimeout(60_000);

/** Twice the time of a lease. */
const heldMs = 6_000;

test.skipIf(!hasPostgres)(
  "a replica keeps its lease while publishing takes all of its connections",
  async () => {
    const { url, drop } = await bareDatabase();
    onTestFinished(drop);
    const log = join(ownDirectory(), "log");
    const server = await ownProcess(["--database-connections", "4"], {
      env: { ONAIR_DATABASE: url, ONAIR_LOG_LEVEL: "warn" },
      log,
    });
    await server.load("users", users);
    const sql = new SQL(url, { max: 1 });
    onTestFinished(() => sql.close({ timeout: 0 }));
    let isEnded = false;
    const publishing = Array.from({ length: 20 }, async () => {
      while (!isEnded) await server.admin("POST", "/admin/v1/events", event("channel.followed"));
    });
    const left: number[] = [];
    await sql.begin(async (held) => {
      await held.unsafe("LOCK TABLE event_ids IN ACCESS EXCLUSIVE MODE");
      for (const until = performance.now() + heldMs; performance.now() < until; await Bun.sleep(200)) {
        const [row] = await administer<{ left: number }>(
          url,
          "SELECT (alive_until - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS left FROM replicas",
        );
        left.push(row?.left ?? 0);
      }
    });
    isEnded = true;
    await Promise.all(publishing);
    expect(left.length).toBeGreaterThan(10);
    expect(Math.min(...left)).toBeGreaterThan(0);
    expect(readFileSync(log, "utf8")).not.toContain("replicas_not_heard");
  },
);
