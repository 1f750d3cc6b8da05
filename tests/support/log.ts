import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { createLog, type Log, type LogLevel } from "../../src/runtime/log.ts";

/** A log whose lines are kept. */
export function keptLog(
  level: LogLevel = "info",
  now: () => number = Date.now,
): { readonly log: Log; lines(): Promise<string[]> } {
  let text = "";
  const log = createLog(level, now, {
    write(lines) {
      text += Buffer.from(lines).toString();
    },
    flush: async () => {},
    linesLeftOut: 0,
  });
  return {
    log,
    async lines() {
      await log.flush();
      return text.split("\n").slice(0, -1);
    },
  };
}

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
