import type { SQL } from "bun";
import { second } from "../domain/time.ts";
import type { ConnectionSettings, Host } from "../store/location.ts";
import { driver, primaryOf, type Queries } from "./pool.ts";

/** A channel of notifications between replicas. A `Message` is any JSON value of at most 7,000 bytes. */
interface Topic<Message> {
  readonly name: string;
  /** Never set: it only ties the type of the messages to the topic. */
  readonly message?: Message;
}

/**
 * A process sends itself a notification every `pulseMs`. Without receiving one for `awayAfterMs` it counts as away, and
 * reads cached data again at that interval. With the time for reading, data in memory is at most about a second old.
 */
const pulseMs = second / 5;
const awayAfterMs = (3 * second) / 5;
const connectTimeoutMs = second;
/**
 * After this time without a pulse, or without a response to LISTEN, the connection is replaced: its other end may be
 * gone without closing it.
 */
const renewAfterMs = 4 * second;
/** The longest random wait before a lost connection is replaced, so that not all replicas connect at once. */
const connectAgainMs = second / 2;

export function topic<Message>(name: string): Topic<Message> {
  return { name: `onair_${name}` };
}

/**
 * Notifies all listening replicas, including this one. Inside a transaction, the notification is sent with the commit.
 * Such commits wait for each other, so frequent notifications are sent after the commit.
 */
export async function notify<Message>(
  queries: Queries,
  { name }: Topic<Message>,
  message: Message,
): Promise<void> {
  await queries.run("SELECT pg_notify($1, $2)", [name, JSON.stringify(message)]);
}

/**
 * Receives the notifications of replicas, on a connection of its own. PostgreSQL loses none while the connection lives.
 * `missed` listeners are called when some may have been lost: repeatedly while the connection is away, and when it is
 * back.
 */
export class Notifications {
  /** The connection; null when none is open or being opened. */
  #sql: SQL | null = null;
  /** The host of the last connection. */
  #host: Host | null = null;
  #receivedAt = performance.now();
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
   * @param settings a direct connection to the server, because LISTEN does not work through a pooler in transaction
   * mode
   * @param queries a connection for sending, which may go through a pooler
   */
  constructor(
    readonly settings: ConnectionSettings,
    readonly queries: Queries,
  ) {}

  /** Calls `listener` with each message of a topic. A topic has one listener. Call it before `start`. */
  on<Message>({ name }: Topic<Message>, listener: (message: Message) => void): void {
    // A boundary: only replicas send, and each topic has one type.
    this.#listeners.set(name, (message) => listener(message as Message));
  }

  /** Calls `missed` when messages may have been lost. */
  onMissed(missed: () => void): void {
    this.#missed.add(missed);
  }

  /** Calls `current` when all messages sent before `at`, in milliseconds since the epoch, were received. */
  onCurrent(current: (at: number) => void): void {
    this.#current.add(current);
  }

  /** Calls `away` when the connection is lost, or receives no pulse. */
  onAway(away: () => void): void {
    this.#away.add(away);
  }

  /** Reports that messages may have been lost, for example those of a replica that was killed before it sent them. */
  reportMissed(): void {
    this.#missedAt = performance.now();
    for (const missed of this.#missed) missed();
  }

  /** Begins to listen. Resolves when messages are received. */
  async start(): Promise<void> {
    this.on(this.#pulse, (sentAt) => this.#alive(sentAt));
    await this.#listen();
    this.#receivedAt = performance.now();
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
    // Closing the connection rejects what waits for it.
    const late = setTimeout(() => this.#drop(sql), renewAfterMs);
    try {
      for (const [name, listener] of this.#listeners) {
        await sql.listen(name, (payload) => {
          if (sql === this.#sql) listener(JSON.parse(payload));
        });
      }
    } catch (error) {
      this.#drop(sql);
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  /** Closes a connection, so that the driver does not reconnect by itself, and schedules a new one. */
  #drop(sql: SQL): void {
    sql.close({ timeout: 0 }).catch(() => {}); // it is no longer used
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
    this.#receivedAt = performance.now();
    if (this.#isAway) this.reportMissed();
    this.#isAway = false;
    for (const current of this.#current) current(sentAt);
  }

  #check(): void {
    notify(this.queries, this.#pulse, Date.now()).catch(() => {}); // the missing pulse shows the failure
    const now = performance.now();
    const silentMs = now - this.#receivedAt;
    if (silentMs >= awayAfterMs) this.#goAway();
    if (!this.#isAway) return;
    if (now - this.#missedAt >= awayAfterMs) this.reportMissed();
    if (now < this.#connectAt || (this.#sql !== null && silentMs < renewAfterMs)) return;
    if (this.#sql !== null) this.#drop(this.#sql);
    this.#listen().catch(() => {
      // Tries again, also when no primary was found.
      if (this.#sql === null) this.#connectAt = performance.now() + connectAgainMs * Math.random();
    });
  }
}
