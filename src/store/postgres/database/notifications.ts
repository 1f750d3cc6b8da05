import type { SQL } from "bun";
import { second } from "../../../domain/time.ts";
import type { ConnectionSettings } from "./connection-url.ts";
import { driver } from "./driver.ts";
import type { Queries } from "./pool.ts";

/** What replicas tell each other over the database, by name; `Message` is anything that JSON can say, in 7,000 bytes. */
interface Topic<Message> {
  readonly name: string;
  /** Only for the compiler. */
  readonly message?: Message;
}

/** So often it sends itself a notification, and after so long without hearing one it counts as away. */
const pulseMs = second / 4;
const awayAfterMs = second / 2;
const connectTimeoutMs = second;
/** After that the connection is made anew: its other end may be gone without a word. */
const renewAfterMs = 4 * second;

export function topic<Message>(name: string): Topic<Message> {
  return { name: `onair_${name}` };
}

/**
 * Tells the replicas that listen, this one included. Inside a transaction it is told with the commit; but such commits
 * wait for each other, so that what comes often is told behind the commit.
 */
export async function notify<Message>(
  queries: Queries,
  { name }: Topic<Message>,
  message: Message,
): Promise<void> {
  await queries.run("SELECT pg_notify($1, $2)", [name, JSON.stringify(message)]);
}

/**
 * Hears what replicas tell each other, on one connection that is kept for it. PostgreSQL loses nothing while that lives;
 * `missed` tells when something may have been lost: once when it is there again, and each second while it is away.
 */
export class Notifications {
  #sql: SQL;
  #heardAt = performance.now();
  #renewedAt = performance.now();
  #missedAt = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #timer: Timer | null = null;
  readonly #pulse = topic<number>(`pulse_${crypto.randomUUID().replaceAll("-", "")}`);
  readonly #listeners = new Map<string, (message: unknown) => void>();
  readonly #missed = new Set<() => void>();
  readonly #current = new Set<(at: number) => void>();

  /**
   * @param settings lead to the server itself: a pooler in transaction mode cannot listen
   * @param queries to send with, which may go through a pooler
   */
  constructor(
    readonly settings: ConnectionSettings,
    readonly queries: Queries,
  ) {
    this.#sql = driver(settings, { connections: 1 }, connectTimeoutMs);
  }

  /** Calls `heard` with each message of a topic. One listener for each; to be called before `start`. */
  on<Message>({ name }: Topic<Message>, heard: (message: Message) => void): void {
    // A boundary: only replicas send, and each topic has one type.
    this.#listeners.set(name, (message) => heard(message as Message));
  }

  /** Calls `missed` when messages may have been lost. */
  onMissed(missed: () => void): void {
    this.#missed.add(missed);
  }

  /** Calls `current` when everything was heard that was sent before `at`, in milliseconds since the epoch. */
  onCurrent(current: (at: number) => void): void {
    this.#current.add(current);
  }

  /** Something may have been lost, as of a replica that has ended without a word. */
  tellMissed(): void {
    this.#missedAt = performance.now();
    for (const missed of this.#missed) missed();
  }

  /** Begins to listen. Resolves when it does. */
  async start(): Promise<void> {
    this.on(this.#pulse, (sentAt) => this.#alive(sentAt));
    await this.#listen();
    this.#heardAt = performance.now();
    this.#timer = setInterval(() => this.#check(), pulseMs);
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#sql.close({ timeout: 0 });
  }

  async #listen(): Promise<void> {
    const sql = this.#sql;
    let isFirst = true;
    for (const [name, heard] of this.#listeners) {
      const received = (payload: string) => {
        if (sql === this.#sql) heard(JSON.parse(payload));
      };
      // The driver connects by itself again, and tells so.
      const listening = () => {
        if (name === this.#pulse.name && !isFirst) this.tellMissed();
        isFirst &&= name !== this.#pulse.name;
      };
      await sql.listen(name, received, listening);
    }
  }

  #alive(sentAt: number): void {
    this.#heardAt = performance.now();
    if (this.#isAway) this.tellMissed();
    this.#isAway = false;
    for (const current of this.#current) current(sentAt);
  }

  #check(): void {
    notify(this.queries, this.#pulse, Date.now()).catch(() => {}); // the pulse that is missing tells it
    const now = performance.now();
    const silentMs = now - this.#heardAt;
    if (silentMs < awayAfterMs + pulseMs) return;
    this.#isAway = true;
    if (now - this.#missedAt >= second) this.tellMissed();
    if (silentMs < renewAfterMs || now - this.#renewedAt < renewAfterMs) return;
    this.#renewedAt = now;
    this.#sql.close({ timeout: 0 }).catch(() => {}); // it is of no use any more
    this.#sql = driver(this.settings, { connections: 1 }, connectTimeoutMs);
    this.#listen().catch(() => {}); // renewed again, as no pulse is heard
  }
}
