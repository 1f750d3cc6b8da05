import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { faultRun } from "../../support/fault-run.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { ownProcess } from "../../support/process.ts";
import { event } from "../../support/publishing.ts";
import { ndjson, ownDirectory, user } from "../../support/server.ts";
import { canMount, SmallDisk } from "../../support/small-disk.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

const oneEvent = event("channel.followed", { id: "while-it-is-full" });

/*
 * On a full disk PostgreSQL first refuses writes that extend a file. When its WAL has no space either, it stops, and
 * cannot start before space is freed.
 */
test.skipIf(!hasPostgres || !canMount)(
  "PostgreSQL's disk is full: 503 meanwhile, and nothing acknowledged is lost",
  async () => {
    const disk = SmallDisk.own(160);
    const postgres = await startPostgres(["min_wal_size=32MB", "max_wal_size=32MB"], disk.mount);
    onTestFinished(postgres.stop);
    await administer(postgres.url("postgres"), "CREATE DATABASE onair");
    const env = { ONAIR_LOG_LEVEL: "off" };
    const report = await faultRun({
      database: postgres.url("onair"),
      replicas: [{ env }, { env }],
      async faults(replicas, { allServed }) {
        disk.fill();
        for (const { server } of replicas) {
          const publish = () => server.admin("POST", "/admin/v1/events", oneEvent);
          let refused = await publish();
          await until(async () => {
            refused = await publish();
            return refused.status === 503;
          });
          expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
          await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503);
        }
        const log =
          "SELECT pg_logical_emit_message(true, '', repeat('x', 4000000)) FROM generate_series(1, 40)";
        await until(async () => {
          if (postgres.isRunning) await administer(postgres.url("postgres"), log).catch(() => {});
          return !postgres.isRunning;
        });
        disk.free();
        for (const { server } of replicas) {
          await until(async () => {
            // Like its service manager.
            if (!postgres.isRunning) await postgres.start();
            return (await fetch(`${server.adminUrl}/readyz`)).status === 200;
          });
        }
        await allServed();
      },
    });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
  },
);

test.skipIf(!hasPostgres || !canMount)(
  "as long as there is no space the log says so once, and nothing of a recovery, although small changes still succeed",
  async () => {
    const disk = SmallDisk.own(160);
    const postgres = await startPostgres(["min_wal_size=32MB", "max_wal_size=32MB"], disk.mount);
    onTestFinished(postgres.stop);
    await administer(postgres.url("postgres"), "CREATE DATABASE onair");
    const log = join(ownDirectory(), "log");
    const env = { ONAIR_LOG_LEVEL: "warn", ONAIR_DATABASE: postgres.url("onair") };
    const server = await ownProcess([], { env, log });
    const said = () => readFileSync(log, "utf8").match(/storage_(?:full|recovered)/g) ?? [];
    const readiness = async () => (await fetch(`${server.adminUrl}/readyz`)).status;
    const rows = (from: number) => Array.from({ length: 1_000 }, (_, i) => user(from + i));
    await server.load("users", rows(1));
    disk.fill();
    for (let from = 1_001; (await readiness()) === 200; from += 1_000) {
      await server.admin("POST", "/admin/v1/users/batch", ndjson(rows(from)));
      expect(from).toBeLessThan(1_000_000);
    }
    // The storage is checked once a second while it is troubled.
    for (const end = Date.now() + 5_000; Date.now() < end; await Bun.sleep(100)) {
      const row = "UPDATE settings SET value = value WHERE key = 'signing_key'";
      await administer(postgres.url("onair"), row);
      expect(await readiness()).toBe(503);
    }
    expect(said()).toEqual(["storage_full"]);
    disk.free();
    await until(async () => (await readiness()) === 200);
    await until(() => said().length > 1);
    expect(said()).toEqual(["storage_full", "storage_recovered"]);
  },
);
