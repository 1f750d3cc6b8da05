import type { Deliverer, EndpointNotification, Ownership } from "../domain/replicas.ts";
import { second } from "../domain/time.ts";
import { EndpointOutbox, type Notifications, notify, topic } from "./notifications.ts";
import type { Queries } from "./pool.ts";
import { endSilentPublishers } from "./positions.ts";
import {
  assignment,
  beat,
  leaseMs,
  type Members,
  type OwnedShard,
  type OwnedShards,
  release,
  shardOf,
  take,
  withdraw,
} from "./shards.ts";

const beatMs = second / 2;
/** A replica stops sending this long before other replicas may take its shards. */
const marginMs = 250;
/** How long a hand-over waits for attempts in progress. After that the shard is released without their results. */
const handOverMs = 5 * second;
/** The time between two looks at the attempts in progress during a hand-over. */
const handOverStepMs = 20;
const endSilentMs = second;
/** The shortest interval between reads of the store for pending deliveries. */
const lookMs = second;
/** These reads take at most one part of the time in this many. */
const lookPart = 20;

const endpointNotifications = topic<EndpointNotification>("endpoint_news");
/** Sent when shards were released, or a replica has joined or left. */
const changedHands = topic<number>("changed_hands");

type Member = Members["shards"][number];

const shardsOf = (owned: readonly OwnedShard[]) => owned.map(({ shard }) => shard);

/**
 * The ownership of one of several processes on a database. Each heartbeat renews its lease and returns the live
 * replicas, from which every replica computes the same assignment of shards. A replica takes assigned shards without a
 * live owner. Shards assigned to others it hands over.
 */
export class Replica implements Ownership {
  #deliverer: Deliverer | null = null;
  #isListening = false;
  #timer: Timer | null = null;
  #looking: Timer | null = null;
  /** The heartbeat in progress, with the resulting changes of shards. */
  #runningHeartbeat: Promise<void> | null = null;
  /** Whether another heartbeat must follow at once. */
  #isAskedAgain = false;
  /** Reads the pending deliveries of the shards that were taken last. */
  #gaining: Promise<void> = Promise.resolve();
  #isLeaving = false;
  /** Shards that are being handed over. No attempt for an endpoint of these shards starts. */
  readonly #handingOver = new Set<number>();
  #alive: readonly number[] = [];
  #meantFor: readonly number[] = [];
  /**
   * The time until which this replica may send: `marginMs` before its lease ends. By a monotonic clock, and by one that
   * runs while the machine is suspended.
   */
  #sendsUntil = Number.NEGATIVE_INFINITY;
  #sendsUntilTime = Number.NEGATIVE_INFINITY;
  /**
   * The time until which this replica takes no shards of dead replicas. They may have lost the database at the same
   * time as this one, and be about to return.
   */
  #waitsUntil = Number.NEGATIVE_INFINITY;
  #endsSilentAt = Number.NEGATIVE_INFINITY;
  readonly #outbox: EndpointOutbox;

  /**
   * @param lease connections for nothing but leases, so that heartbeats do not wait for statements of other work
   */
  constructor(
    readonly db: Queries,
    readonly lease: Queries,
    readonly owned: OwnedShards,
    readonly notifications: Notifications,
    readonly mayServe: () => Promise<void> = async () => {},
  ) {
    this.#outbox = new EndpointOutbox((notification) => notify(db, endpointNotifications, notification));
    notifications.on(endpointNotifications, (notification) => this.#deliverer?.received(notification));
    notifications.on(changedHands, (from) => from !== owned.replica && this.#beatNow());
    notifications.onMissed(() => this.#deliverer?.notificationsMissed());
  }

  async join(deliverer: Deliverer): Promise<void> {
    this.#deliverer = deliverer;
    if (!this.#isListening) await this.notifications.start();
    this.#isListening = true;
    await beat(this.lease, this.owned.replica);
    await this.mayServe();
    await this.#heartbeat(deliverer);
    await this.#gaining;
    this.#notifyOthers();
    this.#schedule();
    this.#scheduleLook(deliverer, lookMs);
  }

  async leave(): Promise<void> {
    const deliverer = this.#deliverer;
    this.#isLeaving = true;
    if (this.#looking) clearTimeout(this.#looking);
    if (!deliverer) return;
    await this.#handOver(deliverer, this.owned.shards);
    if (this.#timer) clearTimeout(this.#timer);
    this.#deliverer = null;
    await this.#runningHeartbeat;
    try {
      await withdraw(this.lease, this.owned.replica);
      await notify(this.lease, changedHands, this.owned.replica);
    } catch {
      // The lease expires by itself.
    }
  }

  /** Stops sending notifications. Call it after `leave`. */
  close(): void {
    this.#outbox.close();
  }

  shares() {
    return { replicas: this.#alive.length, shards: this.owned.shards.length };
  }

  holds(applicationId: string): boolean {
    return this.#isMine(shardOf(applicationId));
  }

  hasLease(): boolean {
    return performance.now() < this.#sendsUntil && Date.now() < this.#sendsUntilTime;
  }

  leads(): boolean {
    return this.#isMine(0) && this.hasLease();
  }

  notify(notification: EndpointNotification): void {
    this.#outbox.add(notification);
  }

  #isMine(shard: number): boolean {
    return this.owned.epochOf(shard) >= 0 && !this.#handingOver.has(shard);
  }

  #schedule(): void {
    if (this.#deliverer) this.#timer = setTimeout(() => this.#beatNow(), beatMs);
  }

  /** Sends a heartbeat now, or one more after the one that is in progress. */
  #beatNow(): void {
    const deliverer = this.#deliverer;
    if (!deliverer) return;
    this.#isAskedAgain = true;
    if (this.#runningHeartbeat) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#isAskedAgain = false;
    this.#runningHeartbeat = this.#heartbeat(deliverer)
      .catch(() => {}) // the fault of the storage is reported elsewhere
      .then(() => {
        this.#runningHeartbeat = null;
        if (this.#isAskedAgain) this.#beatNow();
        else this.#schedule();
      });
  }

  /** Sends a heartbeat, then hands over, releases and takes shards. */
  async #heartbeat(deliverer: Deliverer): Promise<void> {
    const [sentAt, sentAtTime] = [performance.now(), Date.now()];
    const members = await beat(this.lease, this.owned.replica);
    this.#renewed(sentAt, sentAtTime);
    this.#forget(
      deliverer,
      new Set(members.shards.filter((one) => this.#isLost(one)).map(({ shard }) => shard)),
    );
    deliverer.resumed();
    this.#endSilent();
    this.#meet(members.alive);
    if (this.#isLeaving) return;
    const isMeant = ({ shard }: OwnedShard) => this.#meantFor[shard] === this.owned.replica;
    const surplus = members.shards.filter((one) => this.#isMine(one.shard) && !isMeant(one));
    if (surplus.length > 0) void this.#handOver(deliverer, shardsOf(surplus));
    const stranded = members.shards.filter((one) => !isMeant(one) && this.#isStranded(one));
    if (stranded.length > 0) await release(this.lease, this.owned.replica, stranded);
    const wanted = members.shards.filter((one) => isMeant(one) && this.#mayTake(one, members));
    if (wanted.length === 0) return;
    const taken = await take(this.lease, this.owned.replica, wanted);
    this.owned.has(taken);
    this.#gaining = this.#gain(deliverer, new Set(shardsOf(taken)));
  }

  /** Ends publishing transactions of stopped replicas, at most once a second. */
  #endSilent(): void {
    const now = performance.now();
    if (now < this.#endsSilentAt) return;
    this.#endsSilentAt = now + endSilentMs;
    endSilentPublishers(this.db).catch(() => {}); // the next one tries again
  }

  #renewed(sentAt: number, sentAtTime: number): void {
    const wasLate = sentAt > this.#sendsUntil && this.#alive.length > 0;
    if (wasLate) this.#waitsUntil = performance.now() + leaseMs;
    this.#sendsUntil = sentAt + leaseMs - marginMs;
    this.#sendsUntilTime = sentAtTime + leaseMs - marginMs;
  }

  /** Updates the live replicas and the assignment. A replica that died may not have sent all of its notifications. */
  #meet(replicas: readonly number[]): void {
    const alive = [...replicas].sort((a, b) => a - b);
    if (alive.join() === this.#alive.join()) return;
    if (this.#alive.some((one) => !alive.includes(one))) this.notifications.reportMissed();
    this.#alive = alive;
    this.#meantFor = assignment(alive);
  }

  #isLost({ shard, epoch, owner }: Member): boolean {
    const known = this.owned.epochOf(shard);
    return known >= 0 && (owner !== this.owned.replica || known !== epoch);
  }

  /** Whether this replica owns a shard only in the database, because releasing it has failed. */
  #isStranded({ shard, owner }: Member): boolean {
    return owner === this.owned.replica && this.owned.epochOf(shard) < 0;
  }

  #mayTake(one: Member, { alive }: Members): boolean {
    if (this.owned.epochOf(one.shard) >= 0) return false;
    if (one.owner === null || this.#isStranded(one)) return true;
    return !alive.includes(one.owner) && performance.now() >= this.#waitsUntil;
  }

  async #gain(deliverer: Deliverer, shards: ReadonlySet<number>): Promise<void> {
    const isGained = (application: string) => shards.has(shardOf(application));
    for (;;) {
      try {
        return await deliverer.gained(isGained);
      } catch {
        // Not logged: the check of the storage reports the fault.
        await Bun.sleep(beatMs);
        if (!this.#deliverer) return;
      }
    }
  }

  #forget(deliverer: Deliverer, shards: ReadonlySet<number>): void {
    if (shards.size === 0) return;
    for (const shard of shards) this.owned.loses(shard);
    deliverer.lost((application) => shards.has(shardOf(application)));
  }

  /** Starts no more attempts of these shards, and releases each when none is in progress, or after `handOverMs`. */
  async #handOver(deliverer: Deliverer, shards: readonly number[]): Promise<void> {
    const left = new Set(shards);
    for (const shard of left) this.#handingOver.add(shard);
    const until = performance.now() + handOverMs;
    while (left.size > 0) {
      const isLate = performance.now() >= until;
      const busy = new Set(isLate ? [] : [...deliverer.busy()].map(shardOf));
      await this.#give(
        deliverer,
        [...left].filter((shard) => !busy.has(shard)),
      );
      for (const shard of left) if (!busy.has(shard)) left.delete(shard);
      if (left.size > 0) await Bun.sleep(handOverStepMs);
    }
  }

  async #give(deliverer: Deliverer, shards: readonly number[]): Promise<void> {
    const assigned = shards
      .map((shard) => ({ shard, epoch: this.owned.epochOf(shard) }))
      .filter(({ epoch }) => epoch >= 0);
    this.#forget(deliverer, new Set(shardsOf(assigned)));
    for (const shard of shards) this.#handingOver.delete(shard);
    if (assigned.length === 0) return;
    try {
      await release(this.lease, this.owned.replica, assigned);
      this.#notifyOthers();
    } catch {
      // The next heartbeat releases or takes the shards again. If this replica leaves, others take them after its
      // lease.
    }
  }

  #notifyOthers(): void {
    notify(this.lease, changedHands, this.owned.replica).catch(() => {}); // their next heartbeat shows it
  }

  #scheduleLook(deliverer: Deliverer, inMs: number): void {
    this.#looking = setTimeout(async () => {
      const startedAt = performance.now();
      await deliverer.scan().catch(() => {}); // the next one tries again
      if (this.#isLeaving) return;
      this.#scheduleLook(deliverer, Math.max(lookMs, (performance.now() - startedAt) * lookPart));
    }, inMs);
  }
}
