/*
 * The thread that reads every page of a database. This can take long; the caller can terminate the thread.
 */
import { setPriority } from "node:os";
import type { KindSizes } from "../domain/operations/kind-sizes.ts";
import {
  type BrokenBodies,
  brokenBodies,
  brokenPages,
  danglingTables,
  databaseFacts,
  type FileFacts,
} from "../store/sqlite/database/facts.ts";
import { look } from "../store/sqlite/database/look.ts";
import { sizesByKind } from "../store/sqlite/database/sizes.ts";
import type { NoCalls, ThreadContract } from "../threads/contract.ts";
import { runThread } from "../threads/run.ts";

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
  brokenPages: () => look(data, (db) => brokenPages(db, full)),
  danglingTables: () => look(data, danglingTables),
  brokenBodies: () => look(data, brokenBodies),
  facts: () => look(data, databaseFacts),
  sizes: () => look(data, sizesByKind),
}));
