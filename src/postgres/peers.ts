import { LRUCache } from "lru-cache";
import type { Broadcast, OrderStore, ReplicaNotification, Share } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import type { Follower } from "../platform/platform-data.ts";
import { emptyLiveState, type Order, type OrderExchange, type Ranking } from "../platform/ranking.ts";
import type { Log } from "../runtime/log.ts";

/*
 * What the main thread of a replica tells the other replicas, and what it does with their notifications: its caches
 * hold data that any replica may change.
 */

export interface PeersOptions {
  readonly store: Store;
  readonly broadcast: (notification: Broadcast) => void;
  readonly now: () => number;
}

/** The data in the memory of the main thread that notifications of other replicas concern. */
interface Followed {
  readonly callers: { note(): void; useUntil(time: number): void };
  readonly limiter: { takenByReplica(share: Share): void };
  readonly ranking: Pick<Ranking, "touch">;
  readonly streams: { wake(applicationIds: readonly string[]): void; wakeAll(): void };
  readonly outcomes: {
    receive(notification: Extract<ReplicaNotification, { kind: "watching" | "changed" }>): void;
  };
  /** Reads the event types and the operator keys from the store. */
  readonly reload: Readonly<Record<"eventTypes" | "operatorKeys", () => Promise<void>>>;
  readonly log: Log;
}

/** The link of the main thread to the other replicas. */
export class Peers {
  /** Reports the requests that were counted against rate limits here. */
  readonly usage: RateShares;
  /** The orders of categories that every replica reads. */
  readonly orders: OrderExchange;
  readonly #store: Store;
  readonly #repeated: RepeatedRead[] = [];
  #follower: RankingFollower | null = null;

  constructor({ store, broadcast, now }: PeersOptions) {
    this.#store = store;
    this.usage = new RateShares((shares) => broadcast({ kind: "taken", shares }));
    this.orders = new StoredOrders(store.orders, now);
  }

  /** Makes the follower that updates a ranking from the store after changes. */
  follow(ranking: Ranking): Follower {
    this.#follower = new RankingFollower(this.#store, ranking);
    return this.#follower;
  }

  /** Returns a function that applies notifications of other replicas. */
  receiver({ callers, limiter, ranking, streams, outcomes, reload, log }: Followed) {
    const eventTypes = new RepeatedRead(reload.eventTypes);
    const operatorKeys = new RepeatedRead(reload.operatorKeys);
    this.#repeated.push(eventTypes, operatorKeys);
    const follower = this.#follower;
    let isAway = false;
    return (notification: ReplicaNotification): void => {
      switch (notification.kind) {
        case "callers":
          callers.note();
          break;
        case "away":
          isAway = true;
          log.warn("replicas_not_heard", {
            message:
              "The connection for notifications is lost: data that other servers may change is read again until it is restored",
          });
          break;
        case "current":
          if (isAway) log.warn("replicas_heard", { message: "The connection for notifications is restored" });
          isAway = false;
          // By the clock of another thread: an old message, such as after the process was suspended, must not extend
          // the time.
          callers.useUntil(performance.now() + callersMs - Math.max(0, Date.now() - notification.at));
          break;
        case "categories":
        case "livestreams":
          follower?.changed(notification.kind, notification.ids);
          break;
        case "channels":
          ranking.touch();
          break;
        case "streamed":
          streams.wake(notification.applications);
          break;
        case "taken":
          for (const share of notification.shares) limiter.takenByReplica(share);
          break;
        case "missed":
          callers.note();
          ranking.touch();
          follower?.changed("categories", null);
          follower?.changed("livestreams", null);
          streams.wakeAll();
          eventTypes.ask();
          operatorKeys.ask();
          break;
        case "watching":
        case "changed":
          outcomes.receive(notification);
          break;
        case "event_types":
          eventTypes.ask();
          break;
        case "operator_keys":
          operatorKeys.ask();
          break;
      }
    };
  }

  /** Ends repeated reads. */
  stop(): void {
    for (const read of this.#repeated) read.stop();
    this.#follower?.stop();
  }
}

/** The time for which cached callers are valid after the last confirmation that none has changed. */
const callersMs = second;

/** The delay before a read, in which further requests are gathered. */
const gatherMs = 50;
/** The wait after a failed read. */
const againAfterMs = 500;

/**
 * A read that is repeated on request, because the data may have changed. One read runs at a time, and the last one
 * begins after the last request, so that the last state wins.
 */
class RepeatedRead {
  #isAsked = false;
  #isRunning = false;
  #isStopped = false;

  constructor(readonly read: () => Promise<void>) {}

  /** Requests a read. It begins soon, after the end of one in progress, and is retried after a failure. */
  ask(): void {
    this.#isAsked = true;
    if (!this.#isRunning && !this.#isStopped) void this.#repeat();
  }

  /** Ends repeating. */
  stop(): void {
    this.#isStopped = true;
  }

  async #repeat(): Promise<void> {
    this.#isRunning = true;
    while (this.#isAsked) {
      await Bun.sleep(gatherMs);
      if (this.#isStopped) return;
      this.#isAsked = false;
      try {
        await this.read();
      } catch {
        // Not logged here: the storage reports its own failures.
        this.#isAsked = true;
        await Bun.sleep(againAfterMs);
      }
    }
    this.#isRunning = false;
  }
}

type FollowedKind = "categories" | "livestreams";

/**
 * Updates the ranking from a store that other processes also change. Data that may have changed is read after the
 * change, in one read at a time, so that the last state wins.
 */
class RankingFollower implements Follower {
  readonly #changed: Record<FollowedKind, Set<number> | "all"> = {
    categories: new Set(),
    livestreams: new Set(),
  };
  readonly #reading = new RepeatedRead(() => this.#readChanged());

  constructor(
    readonly store: Pick<Store, "categories" | "livestreams">,
    readonly ranking: Ranking,
  ) {}

  /** Requests a read of data that may have changed; `ids` is null for all. */
  changed(kind: FollowedKind, ids: readonly number[] | null): void {
    const known = this.#changed[kind];
    if (ids === null) this.#changed[kind] = "all";
    else if (known !== "all") for (const id of ids) known.add(id);
    this.#reading.ask();
  }

  stop(): void {
    this.#reading.stop();
  }

  async #readChanged(): Promise<void> {
    for (const kind of ["categories", "livestreams"] as const) {
      const ids = this.#changed[kind];
      this.#changed[kind] = new Set();
      try {
        if (ids === "all" || ids.size > 0) await this.#read(kind, ids === "all" ? null : [...ids]);
      } catch (error) {
        this.#changed[kind] = "all";
        throw error;
      }
    }
  }

  async #read(kind: FollowedKind, ids: readonly number[] | null): Promise<void> {
    const { store, ranking } = this;
    if (kind === "categories") {
      const before = ids ?? ranking.categoryIds();
      const found = await (ids ? store.categories.byIds(ids) : store.categories.all());
      ranking.putCategories(found);
      ranking.removeCategories(without(before, new Set(found.map(({ id }) => id))));
    } else {
      const before = ids ?? ranking.liveChannelIds();
      const found = await (ids ? store.livestreams.byChannels(ids) : store.livestreams.all());
      ranking.putLive(found);
      ranking.endLive(without(before, new Set(found.map(({ channel_id }) => channel_id))));
    }
  }
}

const without = (ids: readonly number[], kept: ReadonlySet<number>) => ids.filter((id) => !kept.has(id));

/** Usage is reported in parts of `limit / sharesPerLimit`: the maximum error that each replica adds. */
const sharesPerLimit = 50;
/** The delay before a report, in which further usage is gathered. */
const reportAfterMs = 5;
/** The maximum number of keys in memory. All are dropped when there are more. */
const maxKeys = 65_536;

/**
 * Reports the requests counted against rate limits here, so that a limit applies across all replicas. It reports a
 * fiftieth of a limit at a time, some milliseconds after it was used. No request waits for a report.
 */
export class RateShares {
  readonly #taken = new Map<string, { readonly limit: number; count: number }>();
  #due: Share[] = [];

  constructor(readonly broadcast: (shares: readonly Share[]) => void) {}

  /** Counts a request, or with -1 one that was given back; both are reported. */
  count(key: string, limit: number, requests: 1 | -1): void {
    const taken = this.#taken.get(key) ?? { limit, count: 0 };
    taken.count += requests;
    if (Math.abs(taken.count) < Math.max(1, limit / sharesPerLimit)) {
      if (this.#taken.size >= maxKeys) this.#taken.clear();
      this.#taken.set(key, taken);
      return;
    }
    this.#taken.delete(key);
    if (this.#due.length === 0) setTimeout(() => this.#report(), reportAfterMs);
    this.#due.push([key, limit, taken.count]);
  }

  #report(): void {
    const byKey = new Map<string, Share>();
    for (const share of this.#due) {
      const [key, limit, count] = share;
      byKey.set(key, [key, limit, count + (byKey.get(key)?.[2] ?? 0)]);
    }
    this.#due = [];
    const shares = [...byKey.values()].filter(([, , count]) => count !== 0);
    if (shares.length > 0) this.broadcast(shares);
  }
}

/** The interval at which the expiry of an order in use is extended. */
const renewEveryMs = 60_000;
const maxNoted = 1_000;

/** The orders with which paginations on any replica began. */
class StoredOrders implements OrderExchange {
  /** The time of the last `keep`, by `takenAt`. */
  readonly #keeping = new LRUCache<number, { readonly at: number; readonly kept: Promise<void> }>({
    max: maxNoted,
  });
  readonly #finding = new Map<number, Promise<Order | null>>();

  constructor(
    readonly store: Pick<OrderStore, "keep" | "find">,
    readonly now: () => number,
  ) {}

  /** Stores an order, so that paginations continue on other replicas. If that fails, they continue on this one only. */
  async share(order: Order): Promise<void> {
    const now = this.now();
    const known = this.#keeping.get(order.takenAt);
    if (known && Math.abs(now - known.at) < renewEveryMs) return known.kept;
    const kept = this.store.keep(order.takenAt, contentOf(order), now).catch(() => {
      this.#keeping.delete(order.takenAt);
    });
    this.#keeping.set(order.takenAt, { at: now, kept });
    // A renewal: the order is stored already, so the request need not wait.
    return known ? undefined : kept;
  }

  /** Returns the order taken at `takenAt`; null if it is not stored. */
  find(takenAt: number): Promise<Order | null> {
    if (takenAt === 0) return Promise.resolve(emptyLiveState.order);
    const known = this.#finding.get(takenAt);
    if (known) return known;
    const found = this.store
      .find(takenAt)
      .then((content) => content && orderFrom(takenAt, content))
      .finally(() => this.#finding.delete(takenAt));
    this.#finding.set(takenAt, found);
    return found;
  }
}

function contentOf({ ids, viewers }: Order): Uint8Array {
  const both = new Float64Array(ids.length + viewers.length);
  both.set(ids);
  both.set(viewers, ids.length);
  return Bun.zstdCompressSync(new Uint8Array(both.buffer), { level: 1 });
}

function orderFrom(takenAt: number, content: Uint8Array): Order {
  // Copied, because a Float64Array must begin at a multiple of eight bytes.
  const both = new Float64Array(Uint8Array.from(Bun.zstdDecompressSync(content)).buffer);
  const half = both.length / 2;
  return { takenAt, ids: both.slice(0, half), viewers: both.slice(half) };
}
