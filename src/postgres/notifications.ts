import type { SQL } from "bun";
import type {
  Broadcast,
  EndpointNotification,
  ReplicaLink,
  ReplicaNotification,
  Share,
} from "../domain/replicas.ts";
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

/** The messages that wait to be sent. */
interface Gathered {
  isEmpty(): boolean;
  /** Sends the messages. Resolves to false when some have failed; they are then waiting again, beside new ones. */
  send(): Promise<boolean>;
}

/** Sends collected messages, batch after batch. After a failure it pauses before the next batch. */
class SendingLoop {
  #isRunning = false;
  #isClosed = false;
  #timer: Timer | null = null;

  constructor(
    readonly gathered: Gathered,
    readonly againAfterMs: number,
  ) {}

  /** Call this when a message was added. It is sent at once, or after the batch or pause in progress. */
  wake(): void {
    if (!this.#isRunning) void this.#run();
  }

  /** Sends what waits for a batch in progress, and stops. What has failed is not sent again. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    else if (!this.gathered.isEmpty()) void this.gathered.send();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#timer = null;
    while (!this.#isClosed && !this.gathered.isEmpty()) {
      if ((await this.gathered.send()) || this.#isClosed) continue;
      this.#timer = setTimeout(() => void this.#run(), this.againAfterMs);
      return;
    }
    this.#isRunning = false;
  }
}

/** The most ids in one notification. PostgreSQL limits it to 8,000 bytes. */
const idsAtOnce = 200;

/** The most notifications that wait to be sent again. Above this, the oldest are dropped. */
const maxUnsent = 10_000;
/** The wait before notifications that could not be sent are sent again. */
const outboxAgainAfterMs = 500;

/**
 * Sends notifications to the owners of endpoints. Those of kind `published` are not sent again after a failure, because
 * the owners find the deliveries in the store. Notifications of all other kinds are sent again, because the owners
 * would not notice the change.
 */
export class EndpointOutbox {
  #published = new Set<string>();
  #others: EndpointNotification[] = [];
  readonly #loop = new SendingLoop(
    { isEmpty: () => this.#published.size + this.#others.length === 0, send: () => this.#sendAll() },
    outboxAgainAfterMs,
  );

  constructor(readonly send: (notification: EndpointNotification) => Promise<void>) {}

  add(notification: EndpointNotification): void {
    if (notification.kind === "published")
      for (const id of notification.applications) this.#published.add(id);
    else if (notification.kind === "unsubscribed") {
      for (const ids of inChunks(notification.ids)) this.#others.push({ ...notification, ids });
    } else this.#others.push(notification);
    this.#loop.wake();
  }

  /** Sends what waits for a batch in progress, and stops. What has failed is not sent again. */
  close(): void {
    this.#loop.close();
  }

  async #sendAll(): Promise<boolean> {
    const all = [...this.#others];
    this.#others = [];
    for (const applications of inChunks([...this.#published])) all.push({ kind: "published", applications });
    this.#published.clear();
    const failed = (await Promise.all(all.map((notification) => this.#sent(notification)))).flat();
    this.#others = [...failed, ...this.#others].slice(-maxUnsent);
    return failed.length === 0;
  }

  /** Sends a notification. Resolves to the notifications that must be sent again. */
  async #sent(notification: EndpointNotification): Promise<EndpointNotification[]> {
    try {
      await this.send(notification);
      return [];
    } catch {
      return notification.kind === "published" ? [] : [notification];
    }
  }
}

function inChunks(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / idsAtOnce);
  return Array.from({ length: count }, (_, i) => ids.slice(i * idsAtOnce, (i + 1) * idsAtOnce));
}

/** Notifications of the database's triggers, sent with the commit of a change. */
const changes = topic<ReplicaNotification>("changes");
/** Notifications that replicas send themselves. */
const broadcasts = topic<{ readonly from: number; readonly news: Broadcast }>("told");

/**
 * The most ids and the most shares, whose keys are longer, in one notification. PostgreSQL limits it to 8,000 bytes.
 */
const entriesAtOnce = 150;
const sharesAtOnce = 100;
const exchangeAgainAfterMs = 250;

type StreamBroadcast = Extract<Broadcast, { kind: "watching" | "changed" }>;
type ChangedBroadcast = Extract<StreamBroadcast, { kind: "changed" }>;

/** Exchanges notifications with other replicas over LISTEN and NOTIFY. */
export class ReplicaExchange implements ReplicaLink {
  #listener: (notification: ReplicaNotification) => void = () => {};
  #isReceiving = false;
  #streamed = new Set<string>();
  #taken: Share[] = [];
  /** Notifications for open streams of changes, merged into one of each kind. */
  #latest = new Map<StreamBroadcast["kind"], StreamBroadcast>();
  readonly #loop = new SendingLoop(
    {
      isEmpty: () => this.#streamed.size + this.#taken.length + this.#latest.size === 0,
      send: () => this.#sendSome(),
    },
    exchangeAgainAfterMs,
  );

  constructor(
    readonly queries: Queries,
    readonly replica: number,
    notifications: Notifications,
  ) {
    notifications.on(changes, (notification) => this.#listener(notification));
    notifications.on(
      broadcasts,
      ({ from, news: notification }) => from !== replica && this.#listener(notification),
    );
    notifications.onAway(() => this.#listener({ kind: "away" }));
    notifications.onMissed(() => this.#listener({ kind: "missed" }));
    notifications.onCurrent((at) => {
      // Changes before the connection listened were not received.
      if (!this.#isReceiving) this.#listener({ kind: "missed" });
      this.#isReceiving = true;
      this.#listener({ kind: "current", at });
    });
  }

  onNotification(listener: (notification: ReplicaNotification) => void): void {
    this.#listener = listener;
    this.#isReceiving = false;
  }

  broadcast(notification: Broadcast): void {
    if (notification.kind === "taken") this.#taken.push(...notification.shares);
    else if (notification.kind !== "streamed") this.#announce(notification);
    else for (const id of notification.applications) this.#streamed.add(id);
    this.#loop.wake();
  }

  /** Stops sending. */
  close(): void {
    this.#loop.close();
  }

  #announce(notification: StreamBroadcast): void {
    const earlier = this.#latest.get(notification.kind);
    const isMore = notification.kind === "changed" && earlier?.kind === "changed";
    this.#latest.set(notification.kind, isMore ? bothChanged(earlier, notification) : notification);
  }

  async #sendSome(): Promise<boolean> {
    const applications = [...this.#streamed].slice(0, entriesAtOnce);
    for (const id of applications) this.#streamed.delete(id);
    const shares = this.#taken.splice(0, sharesAtOnce);
    const latest = [...this.#latest.values()];
    const all: Broadcast[] = [...latest];
    this.#latest.clear();
    if (applications.length > 0) all.push({ kind: "streamed", applications });
    if (shares.length > 0) all.push({ kind: "taken", shares });
    try {
      await Promise.all(
        all.map((notification) =>
          notify(this.queries, broadcasts, { from: this.replica, news: notification }),
        ),
      );
      return true;
    } catch {
      // Not logged: the check of the storage reports the fault. Shares are dropped, because they are useless later.
      for (const id of applications) this.#streamed.add(id);
      for (const notification of latest) this.#announce(notification);
      this.#taken = [];
      return false;
    }
  }
}

function bothChanged(one: ChangedBroadcast, other: ChangedBroadcast): ChangedBroadcast {
  const topics = [...new Set([...one.topics, ...other.topics])];
  if (one.applications === null || other.applications === null) return { ...one, topics, applications: null };
  const applications = [...new Set([...one.applications, ...other.applications])];
  return { ...one, topics, applications: applications.length > entriesAtOnce ? null : applications };
}
