import { expect, test } from "bun:test";
import { seededRandom } from "../bench/support/random.ts";
import { killRun } from "../support/kill-run.ts";

// Hundreds of kills in a row: bun tests/bench/kills.ts
test("kill -9 at random moments: every acknowledged event arrives, under one id, in an unbroken sequence", async () => {
  const report = await killRun({ kills: 8, random: seededRandom(Date.now()) });
  expect(report.problems).toEqual([]);
  expect(report.acknowledged).toBeGreaterThan(100);
  expect(report.deliveries).toBeGreaterThanOrEqual(report.acknowledged);
}, 300_000);
