import { setPriority } from "node:os";
import type { KindSizes } from "../../domain/sizes.ts";
import { type NoCalls, runThread, type ThreadContract } from "../../runtime/threads.ts";
import { inspect } from "../../store/sqlite/open.ts";
import {
  type BrokenBodies,
  brokenBodies,
  brokenPages,
  danglingTables,
  databaseFacts,
  type FileFacts,
  sizesByKind,
} from "../../store/sqlite/sizes.ts";

/*
 * The thread that reads every page of a database. This can take long; the caller can terminate the thread.
 */

// On Linux this applies only to the calling thread: the server's threads have priority.
if (process.platform === "linux") setPriority(0, 19);

/** The arguments of the thread. */
export interface DatabaseCheck {
  readonly data: string;
  readonly full: boolean;
}

/** The contract of the thread. */
export interface DatabaseThread extends ThreadContract {
  readonly start: DatabaseCheck;
  readonly offers: {
    brokenPages(): string[];
    danglingTables(): string[];
    brokenBodies(): BrokenBodies;
    facts(): FileFacts;
    sizes(): KindSizes;
  };
  readonly calls: NoCalls;
}

runThread<DatabaseThread>(async ({ start: { data, full } }) => ({
  brokenPages: () => inspect(data, (db) => brokenPages(db, full)),
  danglingTables: () => inspect(data, danglingTables),
  brokenBodies: () => inspect(data, brokenBodies),
  facts: () => inspect(data, databaseFacts),
  sizes: () => inspect(data, sizesByKind),
}));
