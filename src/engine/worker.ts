/*
 * The engine's thread: starts the engine when it is told how, then makes the calls that other threads send it.
 */
import { setPriority } from "node:os";
import type { Link } from "../threads/link.ts";
import { runThread } from "../threads/run.ts";
import type { EngineSettings } from "./engine.ts";

// Linux counts this for the calling thread alone: where there is not enough processor for both, requests go first.
if (process.platform === "linux") setPriority(0, 5);

const links: Link[] = [];
const streamed = new Set<string>();

/** Applications of one turn of the event loop that have something new on their event stream share a message. */
function tellStreamed(applicationIds: readonly string[]): void {
  if (streamed.size === 0) {
    setImmediate(() => {
      for (const link of links) link.tell("streamed", [...streamed]);
      streamed.clear();
    });
  }
  for (const id of applicationIds) streamed.add(id);
}

runThread<EngineSettings>(
  async ({ start, link, log }) => {
    // Behind the priority: on a single processor the first answers do not wait for this thread to load its modules.
    const { startEngine } = await import("./engine.ts");
    const engine = await startEngine({
      settings: start,
      log,
      now: Date.now,
      steady: performance.now.bind(performance),
      random: Math.random,
      // The main thread has locked the directory.
      lock: { close() {} },
      onFault: (fault) => link.tell("storageFault", fault),
    });
    links.push(link);
    // Only now, because a start does not wait for it.
    setImmediate(async () => (await import("../threads/promptly.ts")).runBehind());
    engine.onStreamed(tellStreamed);
    return {
      ...engine,
      async stop(graceMs: number) {
        await engine.stop(graceMs);
        await log.flush();
      },
    };
  },
  (link) => links.push(link),
);
