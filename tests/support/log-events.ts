import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "../..");

/** The log events in the source with their levels, each like `starting info`, in alphabetical order. */
export function logEvents(): string[] {
  const events = new Set<string>();
  for (const file of new Glob("src/**/*.ts").scanSync(root)) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, level, name] of text.matchAll(/\blog\.(debug|info|warn|error)\(\s*"([\w.]+)"/g))
      events.add(`${name} ${level}`);
    for (const [, name] of text.matchAll(/\bfailure\(\s*"([\w.]+)"/g)) events.add(`${name} error`);
    for (const [, level, name] of text.matchAll(/\brepeated\(\s*"(warn|error)",\s*"([\w.]+)"/g))
      events.add(`${name} ${level}`);
  }
  return [...events].sort();
}
