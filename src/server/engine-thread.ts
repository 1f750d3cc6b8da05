import { getPriority, setPriority } from "node:os";
import { runEngineThread } from "../delivery/thread.ts";

/*
 * The program of the engine's thread.
 */

// Linux applies `setPriority` to the calling thread only. With too little processor time for both threads, requests go
// first. The priority is never raised above that of the process, which would need a privilege.
if (process.platform === "linux") setPriority(0, Math.max(getPriority(0), 5));

runEngineThread(async (location) => {
  const { storageAt } = await import("./storage-at.ts");
  return storageAt(location);
});
