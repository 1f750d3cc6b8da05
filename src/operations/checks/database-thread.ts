import type { KindSizes } from "../../domain/sizes.ts";
import { createLog } from "../../runtime/log.ts";
import { startThread } from "../../runtime/threads.ts";
import type { BrokenBodies, FileFacts } from "../../store/sqlite/sizes.ts";
import type { DatabaseCheck, DatabaseThread } from "./database-worker.ts";

/*
 * Reads of a database that take long, in a thread of their own. `program` is the URL of `database-worker.ts`.
 */

function checkThread(program: string, start: DatabaseCheck) {
  return startThread<DatabaseThread>({
    name: "check",
    program,
    start,
    logLevel: "off",
    log: createLog("off"),
    failed() {},
    offered: {},
  });
}

/** Reads the facts of a database that this server uses: counting its users would block requests. */
export async function factsInThread(program: string, data: string): Promise<FileFacts> {
  const { remote, started, end } = checkThread(program, { data, full: false });
  return started.then(() => remote.facts()).finally(end);
}

/** Measures the bytes used by each kind of data. Rejects when the database cannot be read. */
export async function measuredSizes(program: string, data: string): Promise<KindSizes> {
  const { remote, started, end } = checkThread(program, { data, full: false });
  return started.then(() => remote.sizes()).finally(end);
}

/** Reads of all pages of a database. They resolve with null at a common time limit, and reject if it is unreadable. */
export interface Pages {
  /** Returns the faults of pages and indexes. */
  broken(): Promise<string[] | null>;
  /** Returns the tables with rows that refer to missing rows. */
  dangling(): Promise<string[] | null>;
  /** Returns the events whose bodies cannot be unpacked. */
  bodies(): Promise<BrokenBodies | null>;
  end(): void;
}

/** Starts a thread that reads pages; `timeoutMs` is the limit for all reads together, Infinity for none. */
export function readPages(program: string, start: DatabaseCheck, timeoutMs: number): Pages {
  const { remote, started, end } = checkThread(program, start);
  const late = Promise.withResolvers<null>();
  const timer = Number.isFinite(timeoutMs) ? setTimeout(() => late.resolve(null), timeoutMs) : undefined;
  const inTime = <T>(read: () => Promise<T>) => Promise.race([late.promise, started.then(read)]);
  return {
    broken: () => inTime(() => remote.brokenPages()),
    dangling: () => inTime(() => remote.danglingTables()),
    bodies: () => inTime(() => remote.brokenBodies()),
    end() {
      clearTimeout(timer);
      end();
    },
  };
}
