import { expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { administer, bareDatabase, hasPostgres } from "../support/postgres.ts";
import { ownProcess, serve } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

test.skipIf(!hasPostgres)("each line of the log has the number of the replica", async () => {
  const database = await bareDatabase();
  onTestFinished(() => database.drop());
  const log = join(ownDirectory(), "log");
  const server = await serve([], { log, env: { ONAIR_DATABASE: database.url, ONAIR_LOG_LEVEL: "info" } });
  await server.get("/public/v1/users/nobody", "x");
  const [row] = await administer<{ id: string }>(database.url, "SELECT id FROM replicas");
  expect(await server.end("SIGTERM")).toBe(0);
  const lines = readFileSync(log, "utf8").trim().split("\n");
  const told = lines.map((line) => JSON.parse(line) as { event: string; replica?: number });
  // The engine's thread logs migrations.
  const events = told.map(({ event }) => event);
  for (const event of ["starting", "migrating", "request", "stopped"]) expect(events).toContain(event);
  for (const line of told) expect(line).toMatchObject({ replica: Number(row?.id) });
});

test.skipIf(!hasPostgres)("metrics show the live replicas and the shards of each", async () => {
  const database = await bareDatabase();
  onTestFinished(() => database.drop());
  const env = { ONAIR_DATABASE: database.url };
  const first = await ownProcess([], { env });
  const counts = async (server: typeof first) => {
    const metrics = await (await server.admin("GET", "/metrics")).text();
    const of = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1]);
    return { alive: of("onair_replicas_alive"), shards: of("onair_shards_owned") };
  };
  expect(await counts(first)).toEqual({ alive: 1, shards: 256 });
  const second = await ownProcess([], { env });
  await until(async () => {
    const each = [await counts(first), await counts(second)];
    const isShared = each.every(({ alive, shards }) => alive === 2 && shards > 0 && shards < 256);
    return isShared && each.reduce((sum, { shards }) => sum + shards, 0) === 256;
  });
});
