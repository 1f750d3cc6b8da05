import type { ServerProcess } from "../../support/process.ts";
import type { SoakLoad } from "./load.ts";

/** Deliveries that arrived are kept for so long by default. */
const keptDays = 7;
/** How much faster the clock of the past goes. */
const speed = 60;
const [library] = new Bun.Glob("*/faketime/libfaketimeMT.so.1").scanSync({ cwd: "/usr/lib", absolute: true });

export interface Past {
  readonly seconds: number;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The clock for a server that publishes as much as is going to be published later, so that as much is removed then as
 * comes. Null where libfaketime is not installed.
 *
 * @param seconds of the load that comes later
 */
export function pastEnvironment(seconds: number): Past | null {
  if (library === undefined) return null;
  const FAKETIME = `-${keptDays}d x${speed}`;
  return { seconds, env: { LD_PRELOAD: library, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: "1" } };
}

/** Publishes it at an even pace of that clock. */
export async function publishPast(
  load: SoakLoad,
  server: ServerProcess,
  { seconds }: Past,
  say: (line: string) => void,
): Promise<void> {
  const total = Math.round(seconds * load.eventsPerSecond);
  const takesMs = (seconds * 1_000) / speed;
  say(`publishing ${total.toLocaleString("en-US")} events a week ago, in ${(takesMs / 1_000).toFixed(0)} s`);
  const steps = Math.ceil(takesMs / 100);
  const startedAt = performance.now();
  let published = 0;
  for (let step = 1; step <= steps; step++) {
    const count = Math.round((total * step) / steps) - published;
    if (count > 0) await load.publishMany(server, count);
    published += count;
    await Bun.sleep(Math.max(0, startedAt + step * 100 - performance.now()));
  }
  await load.allArrived();
}
