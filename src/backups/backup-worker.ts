/*
 * The thread of one backup.
 */
import { setPriority } from "node:os";
import { databaseSize } from "../store/sqlite/database/backup.ts";
import { runThread } from "../threads/run.ts";
import { makeBackup, type NewBackup } from "./make.ts";

// Linux counts this for the calling thread alone: whatever else there is to do goes first.
if (process.platform === "linux") setPriority(0, 19);

runThread<NewBackup>(async ({ start }) => ({
  size: () => databaseSize(start.data),
  make: () => makeBackup(start),
}));
