import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { scripts } from "../package.json";

/*
 * `bun run test` leaves out what needs more than Bun, and the pages of the console: other scripts run it, and .ci/run
 * all of them.
 */

const root = join(import.meta.dir, "..");
const all = [...new Bun.Glob("tests/**/*.test.ts").scanSync(root)].sort();

/** The files that a script runs. */
function filesOf(script: string): string[] {
  const words = script.slice(script.lastIndexOf("bun ")).replaceAll("'", "").split(" ");
  const folders = words.filter((word) => /^tests\/[\w/]+$/.test(word));
  const ignored = words.flatMap((word) => /^--path-ignore-patterns=(.+)$/.exec(word)?.[1] ?? []);
  return all
    .filter((file) => folders.length === 0 || folders.some((folder) => file.startsWith(`${folder}/`)))
    .filter((file) => !ignored.some((pattern) => new Bun.Glob(pattern).match(file)));
}

const [usual, systems, postgres] = [scripts.test, scripts["test:systems"], scripts["test:postgres"]].map(
  filesOf,
);

test("every file of tests is run by `test` or by `test:systems`, and none by both", () => {
  expect([...(usual ?? []), ...(systems ?? [])].sort()).toEqual(all);
});

test("the folders of tests are the rooms of src, and those for scripts, releases, benchmarks, helpers and other programs", () => {
  const foldersIn = (name: string) =>
    readdirSync(join(root, name), { withFileTypes: true }).flatMap((one) =>
      one.isDirectory() ? one.name : [],
    );
  const others = ["bench", "released", "scripts", "support", "systems"];
  const known = new Set([...foldersIn("src"), ...others]);
  expect(foldersIn("tests").filter((folder) => !known.has(folder))).toEqual([]);
});

test("what looks at whether the servers of tests are on PostgreSQL is run there, too", async () => {
  const missing: string[] = [];
  for (const file of usual ?? []) {
    const text = await Bun.file(join(root, file)).text();
    if (/skipIf\(!isOnPostgres|\(stores\)/.test(text) && !postgres?.includes(file)) missing.push(file);
  }
  expect(missing).toEqual([]);
});

test("no file of `test` starts a PostgreSQL of its own, unless the servers of all tests are on it", async () => {
  const wrong: string[] = [];
  for (const file of usual ?? []) {
    const text = await Bun.file(join(root, file)).text();
    if (/support\/(?:postgres|postgres-server|pgbouncer)\.ts/.test(text) && !text.includes("isOnPostgres"))
      wrong.push(file);
  }
  expect(wrong).toEqual([]);
});

test("no file of `test` starts a browser", async () => {
  const wrong: string[] = [];
  for (const file of usual ?? [])
    if (/support\/(?:chromium|pages)\.ts/.test(await Bun.file(join(root, file)).text())) wrong.push(file);
  expect(wrong).toEqual([]);
});

test("CI runs all of them", async () => {
  const ci = await Bun.file(join(root, ".ci/run")).text();
  const names = Object.keys(scripts).filter((name) => /^test\b/.test(name));
  expect(names).toEqual(["test", "test:systems", "test:postgres"]);
  for (const name of names) expect(ci).toMatch(new RegExp(`^(?:\\w+=\\d+ )?run run ${name}\\b`, "m"));
});
