/*
 * The engine's thread: starts the engine when it is told how, then makes the calls that other threads send it.
 */
import { setPriority } from "node:os";
import type { Link } from "../threads/link.ts";
import { runThread } from "../threads/run.ts";
import type { EngineSettings } from "./engine.ts";

// Linux counts this for the calling thread alone: where there is not enough processor for both, requests go first.
if (process.platform === "linux") setPriority(0, 5);

/** Applications of one turn of the event loop that have something new on their event stream share a message. */
function tellStreamed(link: Link): (applicationIds: readonly string[]) => void {
  const streamed = new Set<string>();
  return (applicationIds) => {
    if (streamed.size === 0) {
      setImmediate(() => {
        link.tell("streamed", [...streamed]);
        streamed.clear();
      });
    }
    for (const id of applicationIds) streamed.add(id);
  };
}

runThread<EngineSettings>(async ({ start, link, log }) => {
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
  engine.onStreamed(tellStreamed(link));
  return {
    ...engine,
    async stop(graceMs: number) {
      await engine.stop(graceMs);
      await log.flush();
    },
  };
});
