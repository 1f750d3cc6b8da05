import type { Database } from "bun:sqlite";
import { inOneTurn } from "../../../runtime/event-loop.ts";
import { storeFault } from "./faults.ts";

interface Waiting {
  readonly work: (together: number) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs a piece of synchronous work inside the next transaction; resolves once that is synced to disk. The work is told how
 * many pieces share the transaction.
 */
export type Commit = <T>(work: (together: number) => T) => Promise<T>;

/**
 * Group commit: all work that arrives in one turn of the event loop shares one transaction and one sync, which is
 * what makes durable single writes cheap. Each piece has a savepoint of its own: one that throws is undone and
 * rejected alone. When the transaction itself cannot be had or committed, all are rejected and nothing is kept.
 * A piece that is alone needs no savepoint, for which SQLite would copy every page before its first change.
 *
 * @param undone called when a piece or all of them were undone
 */
export function groupCommit(db: Database, undone: () => void = () => {}): Commit {
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

  const run = inOneTurn<Waiting>((group) => {
    let settle: (() => void)[];
    try {
      begin.run();
      settle = group.map(group.length === 1 ? runAlone : (one) => attempt(one, group.length));
      commit.run();
    } catch (error) {
      if (db.inTransaction) rollback.run();
      undone();
      for (const { reject } of group) reject(storeFault(error));
      return;
    }
    for (const done of settle) done();
  });

  return (work) => new Promise((resolve, reject) => run({ work, resolve, reject }));
}
