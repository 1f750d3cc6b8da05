import type { Database } from "bun:sqlite";
import { storeFault } from "./faults.ts";

interface Waiting {
  readonly work: (together: number) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a piece of synchronous work inside the next transaction; resolves once that is synced to disk. The work is told how
 * many pieces share the transaction at most. Work that is urgent goes before all other.
 */
export type Commit = <T>(work: (together: number) => T, isUrgent?: boolean) => Promise<T>;

/** After this time a transaction begins no more work, unless it is urgent: so long at most that waits. */
const sliceMs = 10;

/**
 * Group commit: work that arrives in one turn of the event loop shares one transaction and one sync, which is
 * what makes durable single writes cheap. Where it takes long, the rest waits for the next transaction. Each piece has a
 * savepoint of its own: one that throws is undone and rejected alone. When the transaction itself cannot be had or
 * committed, all are rejected and nothing is kept. A piece that is alone needs no savepoint, for which SQLite would copy
 * every page before its first change.
 *
 * @param options.undone called when a piece or all of them were undone
 * @param options.now in milliseconds
 */
export function groupCommit(
  db: Database,
  { undone = () => {}, now = () => performance.now() }: { undone?: () => void; now?: () => number } = {},
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
      // A full disk makes SQLite roll back the whole transaction by itself: then no savepoint is left, and the
      // rest of the group must not run outside of one.
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
    // One of the others at least, however much is urgent.
    const least = urgent.length + 1;
    urgent = [];
    others = [];
    const settle: (() => void)[] = [];
    const end = now() + sliceMs;
    try {
      begin.run();
      for (const one of group) {
        settle.push(group.length === 1 ? runAlone(one) : attempt(one, group.length));
        if (settle.length >= least && now() >= end) break;
      }
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
