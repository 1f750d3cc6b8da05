import { expect, test } from "bun:test";
import { join } from "node:path";
import { createClient } from "../../src/client/onair.ts";
import { faultPlan } from "../../src/dev/faults.ts";
import { DevProcess } from "../support/dev.ts";
import { run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

/** `onair dev --faults` as a whole; its parts are in tests/dev/faults. */

const directory = testDirectory();
const ports = ["--port", "0", "--admin-port", "0"];
const start = (name: string, ...args: string[]) =>
  new DevProcess(
    ["--data", join(directory, name), ...ports, "--no-events", "--json", "--faults", ...args],
    directory,
  );

test("the same seed gives the same faults for the same requests, and each is printed", async () => {
  const answers = async (name: string, seed: string) => {
    const dev = start(name, "--seed", seed);
    const { public_url } = await dev.addresses();
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await fetch(`${public_url}/public/v1/categories`)).status);
    const printed = () => dev.lines.flatMap((line) => / fault +(.*)$/.exec(line)?.[1] ?? []);
    await until(() => printed().length >= statuses.filter((status) => status !== 200).length);
    const faults = printed();
    expect(await dev.end()).toBe(0);
    return { statuses, faults };
  };
  const seed = String(quickSeed());
  const [first, second] = await Promise.all([answers("a", seed), answers("b", seed)]);
  expect(second).toEqual(first);
  expect(first.statuses.some((status) => status !== 200)).toBe(true);
  expect(first.faults).toHaveLength(first.statuses.filter((status) => status !== 200).length);
});

/** A seed with which some of the first requests are refused and none is slow. */
function quickSeed(): number {
  for (let seed = 0; ; seed++) {
    const plan = faultPlan(seed);
    const kinds = Array.from({ length: 25 }, () => plan.api()?.kind);
    if (!kinds.includes("slow") && !kinds.includes("revoked") && kinds.includes("busy")) return seed;
  }
}

test("the client of this package succeeds in spite of the faults", async () => {
  const dev = start("c", "--seed", "3");
  const { public_url: url, client_id: clientId, client_secret: clientSecret } = await dev.addresses();
  const onair = createClient({ url, clientId, clientSecret });
  const path = { params: { path: { username: "LunaBytes" } } };
  const answers = Array.from({ length: 20 }, () => onair.get("/public/v1/users/{username}", path));
  expect((await Promise.all(answers)).every(({ user }) => user.username === "LunaBytes")).toBe(true);
  await until(() => dev.lines.some((line) => line.includes(" fault ")));
  expect(await dev.end()).toBe(0);
});

test.each([
  [["--seed", "1"], "--seed needs --faults"],
  [["--faults", "--seed", "x"], '--seed must be a number, not "x"'],
  [["--faults", "--webhook-proxy", "http://127.0.0.1:1"], "--faults and --webhook-proxy exclude each other"],
  [["--fautls"], "Did you mean --faults?"],
])("%j is wrong usage", async (args, message) => {
  const { code, stdout, stderr } = await run(["dev", "--data", join(directory, "x"), ...args]);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
});
