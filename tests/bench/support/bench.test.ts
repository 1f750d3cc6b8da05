import { expect, test } from "bun:test";
import { join } from "node:path";
import { seeded } from "../../../src/dev/chance.ts";
import { testDirectory } from "../../support/server.ts";
import { distinctRanks, zipfRanks } from "./platform.ts";
import { threadsOf, threadUse } from "./processes.ts";

const program = `
  import { benchmark } from ${JSON.stringify(join(import.meta.dir, "bench.ts"))};
  import { BenchError } from ${JSON.stringify(join(import.meta.dir, "processes.ts"))};
  import { below } from ${JSON.stringify(join(import.meta.dir, "report.ts"))};
  const found = (value, problems = []) =>
    ({ shown: "found " + value, figures: { value }, goals: [below("value", value, 10)], problems });
  const parts = {
    good: async () => found(1),
    missed: async () => found(20),
    broken: async () => found(1, ["a promise is broken"]),
    failing: async () => { throw new BenchError("no disk") },
  };
  await benchmark(
    { about: "About it.", options: { rounds: { default: 3, most: 5, help: "of each" } }, parts: Object.keys(parts) },
    async ({ only, measure }) => { for (const name of only) await measure(name, parts[name]); },
  );
`;

const file = join(testDirectory(), "sample.ts");

async function run(...args: string[]) {
  await Bun.write(file, program);
  const child = Bun.spawn([process.execPath, file, ...args], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

test.each([
  [
    "what is found, and a missed goal, beside a part that fails, which ends with 1",
    ["--only", "good,failing,missed"],
    1,
    ["found 1\nmet: value: 1.00, goal below 10.00", "found 20\nNOT met: value: 20.00, goal below 10.00"],
  ],
  ["a missed goal, which ends with 0", ["--only", "missed"], 0, ["NOT met"]],
  [
    "a missed goal, which ends with 1 where goals are checked",
    ["--only", "missed", "--check"],
    1,
    ["NOT met"],
  ],
  ["its options", ["--help"], 0, ["--rounds N           of each (default: 3)"]],
])("a benchmark prints %s", async (_, args, code, shown) => {
  const { stdout, ...ended } = await run(...args);
  expect(ended.code).toBe(code);
  for (const part of shown) expect(stdout).toContain(part);
  expect(ended.stderr).toBe(args.includes("good,failing,missed") ? "failing failed: no disk\n" : "");
});

test("--json prints one line of JSON", async () => {
  const { stdout, code } = await run("--json", "--rounds", "4", "--only", "good,broken");
  expect(code).toBe(1);
  const goals = [{ text: "value: 1.00, goal below 10.00", met: true }];
  const others = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    bench: "sample",
    rounds: 4,
    results: [
      { name: "good", goals, problems: [], others, figures: { value: 1 } },
      { name: "broken", goals, problems: ["a promise is broken"], others, figures: { value: 1 } },
    ],
  });
});

test("a thread that has ended has used nothing that can be read", () => {
  const [main] = threadsOf(process.pid);
  expect(main).toMatchObject({ name: "main", nanoseconds: expect.any(Number), waits: expect.any(Number) });
  // No thread has this number: it is above the largest of Linux.
  expect(threadUse(process.pid, String(2 ** 22 + 1))).toBeNull();
});

test("ranks drawn uniformly come once each, from the whole range, in no order", () => {
  const ranks = distinctRanks(10_000, 2_000, seeded(1));
  expect(new Set(ranks).size).toBe(2_000);
  expect(Math.min(...ranks)).toBeLessThan(50);
  expect(Math.max(...ranks)).toBeGreaterThan(9_949);
  expect(Math.max(...ranks)).toBeLessThan(10_000);
  const ascending = ranks.filter((rank, i) => i > 0 && rank > (ranks[i - 1] ?? 0)).length;
  expect(ascending).toBeWithin(900, 1_100);
  expect(distinctRanks(10_000, 2_000, seeded(1))).toEqual(ranks);
});

test("where more ranks are asked for than there are, each of them comes once", () => {
  const ranks = distinctRanks(100, 500, seeded(2));
  expect([...ranks].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("by Zipf's law the first rank is drawn twice as often as the second", () => {
  const ranks = zipfRanks(1_000, 100_000, seeded(3));
  const times = (wanted: number) => ranks.filter((rank) => rank === wanted).length;
  expect(times(0) / times(1)).toBeWithin(1.9, 2.1);
  expect(times(0) / 100_000).toBeWithin(0.12, 0.15); // 1 of 7.49, the sum of 1/1 to 1/1000
});
