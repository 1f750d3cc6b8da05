import { expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { administer, bareDatabase, hasPostgres } from "../support/postgres.ts";
import { serve } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";

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
