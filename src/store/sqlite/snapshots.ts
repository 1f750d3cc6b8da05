import type { Database } from "bun:sqlite";

/** The most connections, and so the most reads at once. Each has a page cache and descriptors of its own. */
const maxConnections = 4;

/** Begins a read with a connection. */
type Begin = (db: Database) => void;

/**
 * Reads that take several turns of the event loop and still see one consistent snapshot. Each has a connection for
 * itself, because every other read on it would see that snapshot too. Connections are opened when they are first
 * needed.
 */
export class Snapshots {
  readonly #connections: Database[] = [];
  readonly #free: Database[] = [];
  /** The keys of the reads in progress. */
  readonly #reading = new Set<string>();
  /** The reads that wait, by key. The key that was served last is the last one. */
  readonly #waiting = new Map<string, Begin[]>();

  constructor(readonly open: () => Database) {}

  /**
   * Runs `read`, whose connection shows the same snapshot until its promise is settled. Reads of one key run one after
   * the other, and keys take turns, so that many reads of one application delay no other one.
   * @param key the application, or what else the reads are for
   */
  async during<T>(key: string, read: (db: Database) => Promise<T>): Promise<T> {
    const db = this.#connectionFor(key) ?? (await this.#turnOf(key));
    try {
      db.run("BEGIN");
      try {
        return await read(db);
      } finally {
        db.run("COMMIT");
      }
    } finally {
      this.#end(key, db);
    }
  }

  /** Returns a connection for a read of `key`; null if the read has to wait. */
  #connectionFor(key: string): Database | null {
    if (this.#reading.has(key)) return null;
    const db = this.#free.pop() ?? this.#opened();
    if (db !== null) this.#reading.add(key);
    return db;
  }

  #opened(): Database | null {
    if (this.#connections.length === maxConnections) return null;
    const db = this.open();
    this.#connections.push(db);
    return db;
  }

  #turnOf(key: string): Promise<Database> {
    return new Promise((begin) => {
      const others = this.#waiting.get(key);
      if (others) others.push(begin);
      else this.#waiting.set(key, [begin]);
    });
  }

  /** Gives the connection of a read to the next one that waits and of whose key none is in progress. */
  #end(key: string, db: Database): void {
    this.#reading.delete(key);
    for (const [next, waiting] of this.#waiting) {
      if (this.#reading.has(next)) continue;
      const begin = waiting.shift();
      this.#waiting.delete(next);
      if (waiting.length > 0) this.#waiting.set(next, waiting);
      this.#reading.add(next);
      begin?.(db);
      return;
    }
    this.#free.push(db);
  }

  close(): void {
    for (const db of this.#connections) db.close();
  }
}
