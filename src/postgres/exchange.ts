import type {
  Broadcast,
  EndpointNotification,
  ReplicaLink,
  ReplicaNotification,
  Share,
} from "../domain/replicas.ts";
import { type Notifications, notify, topic } from "./notifications.ts";
import type { Queries } from "./pool.ts";

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

  /** Stops sending. A batch in progress may end. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
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

  /** Stops sending. */
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
