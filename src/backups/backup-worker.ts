/*
 * The thread that makes one backup.
 */
import { setPriority } from "node:os";
import { type DatabaseCounts, databaseSize } from "../store/sqlite/database/backup.ts";
import type { NoCalls, ThreadContract } from "../threads/contract.ts";
import { runThread } from "../threads/run.ts";
import type { NewBackup } from "./destination.ts";
import { makeBackup } from "./make.ts";

// On Linux this applies to the calling thread alone: the server's work goes first.
if (process.platform === "linux") setPriority(0, 19);

/** The contract of the thread. */
export interface BackupThread extends ThreadContract {
  readonly start: NewBackup;
  readonly offers: { size(): number; make(): Promise<DatabaseCounts> };
  readonly calls: NoCalls;
}

runThread<BackupThread>(async ({ start }) => ({
  size: () => databaseSize(start.data),
  make: () => makeBackup(start),
}));
