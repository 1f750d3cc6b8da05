import { runEngineThread } from "../delivery/thread.ts";

// The program of the engine's thread.
runEngineThread(async (location) => {
  const { storageAt } = await import("./storage-at.ts");
  return storageAt(location);
});
