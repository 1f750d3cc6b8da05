import type { Connection } from "./connection.ts";
import { type Accounts, type Cut, type Refusal, Tally } from "./tally.ts";

/** How much all connections of a server may take together. */
export interface CrowdLimits {
  /** Connections that may be open; those beyond are turned away. */
  readonly connections: number;
  /** Of them, those of one client. */
  readonly perClient: number;
  /** Bytes that all of them may hold. */
  readonly heldBytes: number;
  /** Whose connection it is, by the peer's address; null: of one who speaks for many, and is not limited. */
  readonly clientOf: (address: string) => string | null;
}

export type CrowdEvent = "connections.limited" | "descriptors.exhausted";

export interface CrowdOptions {
  readonly limits: CrowdLimits;
  readonly tally?: Tally | undefined;
  /** Whether this process may open one more file or connection. */
  readonly hasDescriptor: () => boolean;
  /** Told what an operator should know: of each event at once, and then once a minute at most. */
  readonly warn: (event: CrowdEvent, fields: Readonly<Record<string, number | string>>) => void;
}

/** Connections that are being turned away at the same time; more than that are closed without a word. */
const maxTurnedAway = 64;

const warnEveryMs = 60_000;

/** All connections of one server: who is let in, and who has to go when they take too much. */
export class Crowd implements Accounts {
  readonly #members = new Set<Connection>();
  /** Those without a place, until they have taken the answer that says so. */
  readonly #turnedAway = new Set<Connection>();
  readonly #byClient = new Map<string, number>();
  readonly #options: CrowdOptions;
  readonly #tally: Tally;
  /** Fewer than may be open while descriptors run out. */
  #places: number;
  #heldBytes = 0;
  /** Whether some of it is about to be let go of. */
  #isTooMuch = false;
  /** When an event was told last. */
  readonly #toldAt = new Map<CrowdEvent, number>();
  /** What has happened since that was told. */
  #since = { refused: 0, ended: 0, lastRefused: "" };

  constructor(options: CrowdOptions) {
    this.#options = options;
    this.#tally = options.tally ?? new Tally();
    this.#places = options.limits.connections;
  }

  get size(): number {
    return this.#members.size + this.#turnedAway.size;
  }

  /** Lets a connection in, or turns it away. */
  enter(connection: Connection): void {
    const { limits } = this.#options;
    const client = limits.clientOf(connection.address);
    const count = client === null ? 0 : (this.#byClient.get(client) ?? 0);
    if (this.#members.size >= this.#places) this.#refuse(connection, "limit");
    else if (count >= limits.perClient) this.#refuse(connection, "client");
    else {
      this.#members.add(connection);
      if (client !== null) this.#byClient.set(client, count + 1);
    }
  }

  #refuse(connection: Connection, why: Refusal): void {
    this.#tally.refused(why);
    this.#since.refused++;
    this.#since.lastRefused = connection.address;
    const isShort = this.#places < this.#options.limits.connections;
    if (this.#turnedAway.size < maxTurnedAway && !isShort) {
      this.#turnedAway.add(connection);
      connection.turnAway();
    } else connection.close();
  }

  /** It is closed. */
  leave(connection: Connection): void {
    if (!this.#members.delete(connection)) return void this.#turnedAway.delete(connection);
    const client = this.#options.limits.clientOf(connection.address);
    const count = client === null ? 0 : (this.#byClient.get(client) ?? 0);
    if (client !== null && count > 1) this.#byClient.set(client, count - 1);
    else if (client !== null) this.#byClient.delete(client);
  }

  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#isTooMuch || this.#heldBytes <= this.#options.limits.heldBytes) return;
    this.#isTooMuch = true;
    // Not at once, because whoever holds more may be in the midst of something.
    queueMicrotask(() => this.#cutLargest());
  }

  #cutLargest(): void {
    const { heldBytes } = this.#options.limits;
    this.#isTooMuch = false;
    // An eighth more than has to be, so that it is not to be done for each of them.
    const largest = [...this.#members].sort((one, other) => other.heldBytes - one.heldBytes);
    for (const connection of largest) {
      if (this.#heldBytes <= heldBytes * 0.875) break;
      connection.cut("memory");
    }
  }

  cut(why: Cut): void {
    this.#tally.cut(why);
    // A client that is too slow is no matter of all.
    if (why !== "slow") this.#since.ended++;
  }

  /** To be called about once a second. */
  look(now: number): void {
    const isCrowded = this.#members.size > this.#places * 0.875;
    for (const connection of this.#members) connection.look(now, isCrowded);
    for (const connection of this.#turnedAway) connection.look(now);
    this.#mindDescriptors(now);
    this.#tally.open = this.#members.size;
    this.#tally.heldBytes = this.#heldBytes;
    const { refused, ended, lastRefused } = this.#since;
    if (refused + ended === 0) return;
    const fields = { open: this.#members.size, refused, ended, last_refused: lastRefused };
    if (this.#warn("connections.limited", now, fields))
      this.#since = { refused: 0, ended: 0, lastRefused: "" };
  }

  /** Lets the answers under way come to their end, and takes no others. */
  finish(): void {
    for (const connection of this.#all()) connection.finish();
  }

  close(): void {
    for (const connection of this.#all()) connection.close();
  }

  #all(): Connection[] {
    return [...this.#members, ...this.#turnedAway];
  }

  /**
   * Without a descriptor nobody can be let in, and the listener keeps the processor busy with trying. So an eighth of the
   * connections makes room, as far as they are idle, and their places come back little by little.
   */
  #mindDescriptors(now: number): void {
    const { limits, hasDescriptor } = this.#options;
    if (hasDescriptor()) {
      this.#places = Math.min(limits.connections, this.#places + Math.ceil(limits.connections / 64));
      return;
    }
    const open = this.#members.size;
    this.#places = Math.min(this.#places, open - Math.floor(open / 8));
    let toEnd = open - this.#places;
    for (const connection of this.#members) {
      if (toEnd === 0) break;
      if (!connection.isIdle) continue;
      toEnd--;
      this.cut("idle");
      connection.finish();
    }
    this.#warn("descriptors.exhausted", now, { connections: open, places: this.#places });
  }

  /** @returns whether it was told */
  #warn(event: CrowdEvent, now: number, fields: Readonly<Record<string, number | string>>): boolean {
    if (now - (this.#toldAt.get(event) ?? Number.NEGATIVE_INFINITY) < warnEveryMs) return false;
    this.#toldAt.set(event, now);
    this.#options.warn(event, fields);
    return true;
  }
}
