import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

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
}

test("every log event is documented, with its level", () => {
  expect(events.size).toBeGreaterThan(40);
  const missing = [...events].filter((event) => {
    const [name, level = ""] = event.split(" ");
    const row = rows.find((line) => line.includes(`\`${name}\``));
    return !row?.split("|")[2]?.includes(level);
  });
  expect(missing).toEqual([]);
});
