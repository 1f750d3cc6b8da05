import type { Database } from "bun:sqlite";

/**
 * Reads that take several turns of the event loop and still see one moment. They have a connection of their own, opened
 * for the first of them, because every other read on it would see that moment, too.
 */
export class Snapshots {
  #db: Database | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(readonly open: () => Database) {}

  /** Runs `read` when those before it have ended; nothing changes on its connection until its promise is settled. */
  during<T>(read: (db: Database) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#run(read));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #run<T>(read: (db: Database) => Promise<T>): Promise<T> {
    this.#db ??= this.open();
    const db = this.#db;
    db.run("BEGIN");
    try {
      return await read(db);
    } finally {
      db.run("COMMIT");
    }
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
  }
}
