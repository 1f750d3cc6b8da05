import type { Connection } from "./connection.ts";
import { endTurnSoon } from "./output.ts";

/** Bytes that wait for the end of a turn at most: a client that sends much must feel at once that it is not read. */
const maxWaitingBytes = 64 * 1024;

/**
 * What a turn of the event loop brings, for all connections; read at its end, before the answers are sent. The kernel's
 * code for receiving and the code that answers drive each other out of the processor's caches, so that taking turns for
 * each request costs a Get User 4 % (`bun tests/bench/read.ts`).
 */
export class Arrivals {
  #waiting: { readonly connection: Connection; readonly bytes: Buffer }[] = [];
  #waitingBytes = 0;

  add(connection: Connection, bytes: Buffer): void {
    if (this.#waiting.length === 0) {
      setImmediate(() => this.read());
      endTurnSoon();
    }
    this.#waiting.push({ connection, bytes });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > maxWaitingBytes) this.read();
  }

  /** To be called before anything else is told to a connection, so that it hears everything in order. */
  read(): void {
    if (this.#waiting.length === 0) return;
    const arrived = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const { connection, bytes } of arrived) {
      try {
        connection.received(bytes);
      } catch {
        connection.close();
      }
    }
  }
}
