/** Idle connections, kept for the next request to the same protocol, host and port. */

import type { Connection } from "./connection.ts";

/**
 * How long an idle connection is kept. Common servers keep theirs longer (Node.js: 5 s), so they seldom close one at
 * the moment of its next use.
 */
const idleMs = 4_000;

/** The interval at which expired connections are closed. They are not used in any case. */
const sweepMs = 1_000;

/**
 * The idle connections of all origins. Times are on the clock of `performance.now`.
 *
 * The capacity bounds all origins together and includes connections in use. A bound per origin would not do: thousands
 * of endpoints may share one origin, and need as many connections as they use at once.
 */
export class Pool {
  readonly #idle = new Map<string, Connection[]>();
  readonly #capacity: number;
  readonly #inUse: () => number;
  #count = 0;
  #sweeping: Timer | null = null;

  /** @param options.capacity the maximum number of connections, those in use included */
  constructor({ capacity, inUse }: { readonly capacity: number; readonly inUse: () => number }) {
    this.#capacity = capacity;
    this.#inUse = inUse;
  }

  /** Removes and returns the most recently used connection to `origin`; null if there is none that may be used. */
  take(origin: string, now: number): Connection | null {
    const idle = this.#idle.get(origin);
    if (idle === undefined) return null;
    for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
      this.#count--;
      if (found.isOpen && found.keptUntil > now) return found;
      found.destroy();
    }
    return null;
  }

  /** Closes an idle connection if a new one would exceed the capacity. */
  evictIfFull(): void {
    if (this.#count === 0 || this.#count + this.#inUse() <= this.#capacity) return;
    for (const [origin, idle] of this.#idle) {
      const oldest = idle.shift();
      if (idle.length === 0) this.#idle.delete(origin);
      if (oldest === undefined) continue;
      this.#count--;
      oldest.destroy();
      return;
    }
  }

  /** Keeps a connection that is no longer in use, for at most `keepMs`; closes it if the capacity is used up. */
  keep(connection: Connection, keepMs: number, now: number): void {
    if (this.#count + this.#inUse() >= this.#capacity) {
      connection.destroy();
      return;
    }
    const { origin } = connection.destination;
    let idle = this.#idle.get(origin);
    if (idle === undefined) {
      idle = [];
      this.#idle.set(origin, idle);
    }
    this.#count++;
    connection.owner = null;
    connection.keptUntil = now + Math.min(keepMs, idleMs);
    idle.push(connection);
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs);
  }

  /** Closes all idle connections. */
  close(): void {
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
    this.#idle.clear();
    this.#count = 0;
    this.#stopSweeping();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [origin, idle] of this.#idle) {
      const good: Connection[] = [];
      for (const connection of idle) {
        if (connection.isOpen && connection.keptUntil > now) good.push(connection);
        else connection.destroy();
      }
      this.#count -= idle.length - good.length;
      if (good.length === 0) this.#idle.delete(origin);
      else this.#idle.set(origin, good);
    }
    if (this.#idle.size === 0) this.#stopSweeping();
  }

  #stopSweeping(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    this.#sweeping = null;
  }
}
