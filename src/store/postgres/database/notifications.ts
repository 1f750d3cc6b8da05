import type { SQL } from "bun";
import { second } from "../../../domain/time.ts";
import type { ConnectionSettings, Host } from "./connection-url.ts";
import { driver } from "./driver.ts";
import type { Queries } from "./pool.ts";
import { primaryOf } from "./primary.ts";

/** What replicas tell each other over the database, by name; `Message` is anything that JSON can say, in 7,000 bytes. */
interface Topic<Message> {
  readonly name: string;
  /** Only for the compiler. */
  readonly message?: Message;
}

/**
 * So often it sends itself a notification, and after so long without hearing one it counts as away. What is in memory is
 * read again then, as often: together with the reading that is within a second.
 */
const pulseMs = second / 5;
const awayAfterMs = (3 * second) / 5;
const connectTimeoutMs = second;
/** After that the connection is made anew: its other end may be gone without a word. */
const renewAfterMs = 4 * second;
/** The wait before a lost connection is made again, with jitter, so that not all replicas connect at once. */
const connectAgainMs = second / 2;

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
 * `missed` tells when something may have been lost: when it is there again, and again and again while it is away.
 */
export class Notifications {
  /** null: none is open or being opened. */
  #sql: SQL | null = null;
  /** Where it led last. */
  #host: Host | null = null;
  #heardAt = performance.now();
  #connectAt = Number.POSITIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #isClosed = false;
  #timer: Timer | null = null;
  readonly #pulse = topic<number>(`pulse_${crypto.randomUUID().replaceAll("-", "")}`);
  readonly #listeners = new Map<string, (message: unknown) => void>();
  readonly #missed = new Set<() => void>();
  readonly #current = new Set<(at: number) => void>();
  readonly #away = new Set<() => void>();

  /**
   * @param settings lead to the server itself: a pooler in transaction mode cannot listen
   * @param queries to send with, which may go through a pooler
   */
  constructor(
    readonly settings: ConnectionSettings,
    readonly queries: Queries,
  ) {}

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

  /** Calls `away` when the connection goes away, or falls silent. */
  onAway(away: () => void): void {
    this.#away.add(away);
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
    this.#isClosed = true;
    if (this.#timer) clearInterval(this.#timer);
    const sql = this.#sql;
    this.#sql = null;
    await sql?.close({ timeout: 0 });
  }

  async #listen(): Promise<void> {
    this.#connectAt = performance.now() + renewAfterMs;
    const { settings } = this;
    const host = settings.others.length > 0 ? await primaryOf(settings, { known: this.#host }) : settings;
    if (this.#isClosed) return;
    this.#host = host;
    const ended = () => this.#drop(sql);
    const sql = driver({ ...settings, ...host }, { connections: 1, ended }, connectTimeoutMs);
    this.#sql = sql;
    this.#connectAt = performance.now() + renewAfterMs;
    try {
      for (const [name, heard] of this.#listeners) {
        await sql.listen(name, (payload) => {
          if (sql === this.#sql) heard(JSON.parse(payload));
        });
      }
    } catch (error) {
      this.#drop(sql);
      throw error;
    }
  }

  /** Ends a connection, before the driver makes it anew in its own way, and makes another one soon. */
  #drop(sql: SQL): void {
    sql.close({ timeout: 0 }).catch(() => {}); // it is of no use any more
    if (sql !== this.#sql) return;
    this.#sql = null;
    this.#connectAt = performance.now() + connectAgainMs * Math.random();
    this.#goAway();
  }

  #goAway(): void {
    if (!this.#isAway) for (const away of this.#away) away();
    this.#isAway = true;
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
    if (silentMs >= awayAfterMs) this.#goAway();
    if (!this.#isAway) return;
    if (now - this.#missedAt >= awayAfterMs) this.tellMissed();
    if (now < this.#connectAt || (this.#sql !== null && silentMs < renewAfterMs)) return;
    if (this.#sql !== null) this.#drop(this.#sql);
    this.#listen().catch(() => {
      // Tried again, where no primary was found, too.
      if (this.#sql === null) this.#connectAt = performance.now() + connectAgainMs * Math.random();
    });
  }
}
