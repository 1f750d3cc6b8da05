import type { Database } from "bun:sqlite";

/**
 * Reads that take several turns of the event loop and still see one consistent snapshot. They have a connection of
 * their own, because every other read on it would see that snapshot too. It is opened on first use.
 */
export class Snapshots {
  #db: Database | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(readonly open: () => Database) {}

  /** Runs `read` after all earlier ones. Its connection shows the same snapshot until its promise is settled. */
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
