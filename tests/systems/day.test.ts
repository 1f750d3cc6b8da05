import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { buildExecutable } from "../../scripts/executable.ts";
import { hasPostgres } from "../support/postgres.ts";
import { temporaryDirectory } from "../support/server.ts";
import { canMount } from "../support/small-disk.ts";

setDefaultTimeout(600_000);

const directory = temporaryDirectory();
afterAll(directory.remove);
/** The build to which each day upgrades. */
const next = join(directory.path, "onair-next");
beforeAll(() => buildExecutable(next, undefined, { version: "99.0.0", commit: null }));

interface Figures {
  readonly acknowledged: number;
  readonly delivered: number;
  readonly pending: number;
  readonly expired: number;
  readonly failed: number;
  readonly filtered: number;
  readonly incidents: readonly { readonly title: string; readonly detail: string }[];
}

/** A day in a minute, of a platform that is smaller than that of `docs/a-day.md`. */
async function shortDay(page: string, ...args: string[]): Promise<Figures> {
  const program = join(import.meta.dir, "../bench/day.ts");
  const size = [
    "--minutes",
    "1",
    "--applications",
    "40",
    "--channels",
    "600",
    "--rate",
    "20",
    "--next",
    next,
  ];
  const child = Bun.spawn([process.execPath, program, ...size, "--report", page, "--json", ...args], {
    env: { ...process.env, BUN_JSC_useFTLJIT: "0" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (stdout === "") throw new Error(stderr);
  const { results } = JSON.parse(stdout) as { results: { problems: string[]; figures: Figures }[] };
  expect(results.flatMap(({ problems }) => problems)).toEqual([]);
  expect([child.exitCode, results.length]).toEqual([0, 1]);
  return (results[0] as { figures: Figures }).figures;
}

test.each([
  ["one server on SQLite", 0],
  ["2 replicas on PostgreSQL", 2],
] as const)("a day of %s: each acknowledged event is accounted for", async (name, replicas) => {
  if (replicas > 0 && !hasPostgres) return;
  const page = join(directory.path, `${replicas}.html`);
  const figures = await shortDay(page, "--postgres", `${replicas}`);
  expect(figures.acknowledged).toBeGreaterThan(500);
  for (const outcome of ["delivered", "pending", "expired", "failed", "filtered"] as const)
    expect([outcome, figures[outcome] > 0]).toEqual([outcome, true]);
  if (canMount) {
    const full = figures.incidents.find(({ title }) => title === "the disk of the data is full");
    expect(full?.detail).toMatch(/refused [1-9]\d* times with 503/);
  }
  const text = await Bun.file(page).text();
  expect(/<h1>A simulated day: (.*)<\/h1>/.exec(text)?.[1]).toBe(name);
  expect(/NaN|undefined|\bsrc=/.exec(text)).toBeNull();
});
