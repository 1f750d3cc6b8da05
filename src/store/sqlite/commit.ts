import type { Database } from "bun:sqlite";
import { storeFault } from "./faults.ts";

interface Waiting {
  readonly work: (together: number) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs synchronous work in the next transaction. Resolves when that is synced to disk. Urgent work runs before all
 * other work.
 *
 * @param work called with the largest number of pieces of work that share the transaction
 */
export type Commit = <T>(work: (together: number) => T, isUrgent?: boolean) => Promise<T>;

interface CommitOptions {
  readonly ensureWriter?: () => boolean;
  readonly begun?: () => void;
  readonly undone?: () => void;
  readonly check?: () => void;
  readonly now?: () => number;
}

/** After this time a transaction starts no more work that is not urgent. It bounds how long urgent work waits. */
const sliceMs = 10;

/**
 * Group commit: pieces of work that arrive in one turn of the event loop share one transaction and one sync, which
 * makes durable small writes cheap. When they take long, the rest waits for the next transaction. Each piece has a
 * savepoint: one that throws is rolled back and rejected alone. When the transaction cannot begin or commit, all are
 * rejected and nothing is stored. A single piece runs without a savepoint, because SQLite would copy every page for it
 * before the first change.
 *
 * @param options.ensureWriter called before each transaction; true when what was read before may be outdated
 * @param options.begun called when a transaction has begun, before all work; it fails with what this throws
 * @param options.undone called when a piece or the whole transaction was rolled back, or when `ensureWriter` was true
 * @param options.check called before each commit, which fails with what it throws
 * @param options.now a clock in milliseconds
 */
export function groupCommit(
  db: Database,
  {
    ensureWriter = () => false,
    begun = () => {},
    undone = () => {},
    check = () => {},
    now = () => performance.now(),
  }: CommitOptions = {},
): Commit {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const save = db.prepare("SAVEPOINT work");
  const release = db.prepare("RELEASE work");
  const undo = db.prepare("ROLLBACK TO work");

  const attempt = ({ work, resolve, reject }: Waiting, together: number): (() => void) => {
    save.run();
    try {
      const value = work(together);
      release.run();
      return () => resolve(value as never);
    } catch (error) {
      // On a full disk SQLite itself rolls back the whole transaction. The rest of the group must not run outside of
      // one.
      if (!db.inTransaction) throw error;
      undo.run();
      release.run();
      undone();
      return () => reject(storeFault(error));
    }
  };

  const runAlone = ({ work, resolve }: Waiting): (() => void) => {
    const value = work(1);
    return () => resolve(value as never);
  };

  let urgent: Waiting[] = [];
  let others: Waiting[] = [];
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled || urgent.length + others.length === 0) return;
    isScheduled = true;
    setImmediate(run);
  };

  const run = (): void => {
    isScheduled = false;
    const group = [...urgent, ...others];
    // At least one piece that is not urgent runs, so that urgent work cannot starve the others.
    const least = urgent.length + 1;
    urgent = [];
    others = [];
    const settle: (() => void)[] = [];
    const end = now() + sliceMs;
    try {
      if (ensureWriter()) undone();
      begin.run();
      begun();
      for (const one of group) {
        settle.push(group.length === 1 ? runAlone(one) : attempt(one, group.length));
        if (settle.length >= least && now() >= end) break;
      }
      check();
      commit.run();
    } catch (error) {
      if (db.inTransaction) rollback.run();
      undone();
      for (const { reject } of group) reject(storeFault(error));
      return;
    }
    others = [...group.slice(settle.length), ...others];
    schedule();
    for (const done of settle) done();
  };

  return (work, isUrgent = false) =>
    new Promise((resolve, reject) => {
      (isUrgent ? urgent : others).push({ work, resolve, reject });
      schedule();
    });
}
