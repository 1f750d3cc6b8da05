import type { Broadcast, ReplicaLink, ReplicaNotification, Share } from "../../replicas/notifications.ts";
import { type Notifications, notify, topic } from "../database/notifications.ts";
import type { Queries } from "../database/pool.ts";
import { SendingLoop } from "./sending-loop.ts";

/** Notifications of the database's triggers, sent with the commit of a change. */
const changes = topic<ReplicaNotification>("changes");
/** Notifications of replicas. Other versions of the program know the names `told` and `news`. */
const broadcasts = topic<{ readonly from: number; readonly news: Broadcast }>("told");

/**
 * The most ids and the most shares, whose keys are longer, in one notification. PostgreSQL limits it to 8,000 bytes.
 */
const entriesAtOnce = 150;
const sharesAtOnce = 100;
const againAfterMs = 250;

type StreamBroadcast = Extract<Broadcast, { kind: "watching" | "changed" }>;
type ChangedBroadcast = Extract<StreamBroadcast, { kind: "changed" }>;

/** Exchanges notifications with other replicas over LISTEN and NOTIFY. */
export class ReplicaExchange implements ReplicaLink {
  #listener: (notification: ReplicaNotification) => void = () => {};
  #isReceiving = false;
  #streamed = new Set<string>();
  #taken: Share[] = [];
  /** Notifications for open streams of changes, merged into one of each kind. */
  #shown = new Map<StreamBroadcast["kind"], StreamBroadcast>();
  readonly #loop = new SendingLoop(
    {
      isEmpty: () => this.#streamed.size + this.#taken.length + this.#shown.size === 0,
      send: () => this.#sendSome(),
    },
    againAfterMs,
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
    else if (notification.kind !== "streamed") this.#show(notification);
    else for (const id of notification.applications) this.#streamed.add(id);
    this.#loop.wake();
  }

  /** Stops sending. */
  close(): void {
    this.#loop.close();
  }

  #show(notification: StreamBroadcast): void {
    const earlier = this.#shown.get(notification.kind);
    const isMore = notification.kind === "changed" && earlier?.kind === "changed";
    this.#shown.set(notification.kind, isMore ? bothChanged(earlier, notification) : notification);
  }

  async #sendSome(): Promise<boolean> {
    const applications = [...this.#streamed].slice(0, entriesAtOnce);
    for (const id of applications) this.#streamed.delete(id);
    const shares = this.#taken.splice(0, sharesAtOnce);
    const shown = [...this.#shown.values()];
    const all: Broadcast[] = [...shown];
    this.#shown.clear();
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
      // The fault of the storage is reported elsewhere. Shares are dropped, because they are useless later.
      for (const id of applications) this.#streamed.add(id);
      for (const notification of shown) this.#show(notification);
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
