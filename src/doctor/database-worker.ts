/*
 * The thread that reads every page of a database: it can take long, and whoever waits can give it up.
 */
import { setPriority } from "node:os";
import { brokenPages, danglingTables } from "../store/sqlite/database/facts.ts";
import { look } from "../store/sqlite/database/look.ts";
import { runThread } from "../threads/run.ts";

// Linux counts this for the calling thread alone: whatever a server has to do goes first.
if (process.platform === "linux") setPriority(0, 19);

/** What the thread starts with. */
export interface DatabaseCheck {
  readonly data: string;
  readonly full: boolean;
}

runThread<DatabaseCheck>(async ({ start: { data, full } }) => ({
  brokenPages: () => look(data, (db) => brokenPages(db, full)),
  danglingTables: () => look(data, danglingTables),
}));
