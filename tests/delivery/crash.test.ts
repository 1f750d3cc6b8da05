import { expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { killRun } from "../support/fault-run.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { isOnPostgres } from "../support/server.ts";

const promise = "every acknowledged event arrives, under one id, in an unbroken sequence";

// Hundreds of kills in a row: bun tests/bench/kills.ts
test(`kill -9 at random moments: ${promise}`, async () => {
  const database = isOnPostgres ? await emptyDatabase() : null;
  try {
    const random = seeded(Date.now());
    const report = await killRun({ kills: 5, random, ...(database && { database: database.url }) });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.deliveries).toBeGreaterThanOrEqual(report.acknowledged);
  } finally {
    await database?.drop();
  }
}, 300_000);

test.skipIf(isOnPostgres)(
  "restarts by SIGTERM under load: every acknowledged event arrives, and no request is sent twice",
  async () => {
    const report = await killRun({ kills: 3, random: seeded(Date.now()), signal: "SIGTERM" });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.requests).toBe(report.deliveries);
  },
  300_000,
);
