import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { errorEvents } from "../../src/runtime/log.ts";

const root = join(import.meta.dir, "../..");
const rows = readFileSync(join(root, "docs/log.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"));

/** The log events in the source by name, with their levels. */
const events = new Set<string>();
for (const file of new Glob("src/**/*.ts").scanSync(root)) {
  const text = readFileSync(join(root, file), "utf8");
  for (const [, level, name] of text.matchAll(/\blog\.(debug|info|warn|error)\(\s*"([\w.]+)"/g))
    events.add(`${name} ${level}`);
  for (const [, name] of text.matchAll(/\bfailure\(\s*"([\w.]+)"/g)) events.add(`${name} error`);
  for (const [, level, name] of text.matchAll(/\brepeated\(\s*"(warn|error)",\s*"([\w.]+)"/g))
    events.add(`${name} ${level}`);
}

test("every event of an error is documented, and has a place in the source", () => {
  expect(errorEvents.filter((name) => !rows.some((line) => line.includes(`\`${name}\``)))).toEqual([]);
  const used = (name: string) => name.startsWith("storage_") || events.has(`${name} error`);
  expect(errorEvents.filter((name) => !used(name))).toEqual([]);
});

test("every log event is documented, with its level", () => {
  expect(events.size).toBeGreaterThan(40);
  const missing = [...events].filter((event) => {
    const [name, level = ""] = event.split(" ");
    const row = rows.find((line) => line.includes(`\`${name}\``));
    return !row?.split("|")[2]?.includes(level);
  });
  expect(missing).toEqual([]);
});
