import { readFileSync } from "node:fs";
import type { Environment } from "../config/read-config.ts";

const lookEveryMs = 500;

/**
 * Resolves when what npm has started, or npm itself, has ended: npm and its shell end by a signal and pass none on. Never
 * resolves without npm.
 */
export function abandonedByNpm({ npm_command }: Environment): Promise<"abandoned"> {
  const { promise, resolve } = Promise.withResolvers<"abandoned">();
  if (npm_command === undefined) return promise;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    resolve("abandoned");
  }, lookEveryMs);
  timer.unref();
  return promise;
}

/** The parent, and where npm has started that, such as `bun run`, its parent, as far as the system tells it. */
function ancestors(): string {
  const parent = process.ppid;
  const told = (what: string) => readFileSync(`/proc/${parent}/${what}`, "latin1");
  try {
    // npm itself began without it: its parent is a shell, which may end before.
    if (!/(^|\0)npm_command=/.test(told("environ"))) return String(parent);
    // What is behind the name, which may have spaces: the state, then the parent.
    const [, grandparent] = told("stat").split(") ").at(-1)?.split(" ") ?? [];
    return `${parent} ${grandparent}`;
  } catch {
    return String(parent);
  }
}
