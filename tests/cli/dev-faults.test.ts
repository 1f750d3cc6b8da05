import { expect, test } from "bun:test";
import { join } from "node:path";
import { faultPlan } from "../../src/dev/faults.ts";
import { DevProcess } from "../support/dev.ts";
import { run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/** `onair dev --faults` as a whole; its parts are in tests/dev/faults. */

const directory = testDirectory();

test("answers have the faults of the seed, and each is printed", async () => {
  const seed = quickSeed();
  const plan = faultPlan(seed);
  const expected = Array.from({ length: 25 }, () => plan.api()).map((fault) =>
    fault?.kind === "busy" ? fault.status : 200,
  );
  const ports = ["--port", "0", "--admin-port", "0"];
  const args = ["--data", join(directory, "a"), ...ports, "--no-events", "--json", "--faults"];
  const dev = new DevProcess([...args, "--seed", String(seed)], directory);
  const { public_url } = await dev.addresses();
  const statuses: number[] = [];
  for (const _ of expected) statuses.push((await fetch(`${public_url}/public/v1/categories`)).status);
  expect(statuses).toEqual(expected);
  const printed = () => dev.lines.flatMap((line) => / fault +(\d+)/.exec(line)?.[1] ?? []).map(Number);
  const refused = expected.filter((status) => status !== 200);
  await until(() => printed().length >= refused.length);
  expect(printed()).toEqual(refused);
  expect(await dev.end()).toBe(0);
});

/** A seed with which some of the first requests are refused and none is slow. */
function quickSeed(): number {
  for (let seed = 0; ; seed++) {
    const plan = faultPlan(seed);
    const kinds = Array.from({ length: 25 }, () => plan.api()?.kind);
    if (!kinds.includes("slow") && !kinds.includes("revoked") && kinds.includes("busy")) return seed;
  }
}

test.each([
  [["--seed", "1"], "--seed needs --faults"],
  [["--faults", "--seed", "x"], '--seed must be a number, not "x"'],
  [["--faults", "--webhook-proxy", "http://127.0.0.1:1"], "--faults and --webhook-proxy exclude each other"],
  [["--fautls"], "Did you mean --faults?"],
])("%j is wrong usage", async (args, message) => {
  const { code, stdout, stderr } = await run(["dev", "--data", join(directory, "x"), ...args]);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
});
