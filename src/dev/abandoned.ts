import { readFileSync } from "node:fs";
import type { Environment } from "../server/settings/read-config.ts";

const lookEveryMs = 500;

/**
 * Resolves when the process that npm started, or npm itself, has ended. This is needed because npm and its shell end at
 * a signal without forwarding it. Never resolves without npm.
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

/** Returns the parent process; if npm started that, as with `bun run`, also the grandparent, where `/proc` shows it. */
function ancestors(): string {
  const parent = process.ppid;
  const parentFile = (name: string) => readFileSync(`/proc/${parent}/${name}`, "latin1");
  try {
    // Without this variable the parent is npm itself. Its parent is a shell, which may end earlier.
    if (!/(^|\0)npm_command=/.test(parentFile("environ"))) return String(parent);
    // After the name, which may contain spaces, come the state and the parent.
    const [, grandparent] = parentFile("stat").split(") ").at(-1)?.split(" ") ?? [];
    return `${parent} ${grandparent}`;
  } catch {
    return String(parent);
  }
}
