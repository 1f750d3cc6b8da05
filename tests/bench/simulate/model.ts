import { percentile } from "../support/rounds.ts";
import type { Cost, Costs } from "./costs.ts";

/** A platform: what it publishes, and on how much it runs. */
export interface Platform {
  readonly eventsPerSecond: number;
  readonly replicas: number;
  readonly databaseCores: number;
}

/** What is not measured, but given. */
export interface Given {
  /** Processor time of a replica for an event from its publishing to its record. */
  readonly replicaMs: number;
  /** A sync of the database's disk. */
  readonly syncMs: number;
  /** From a replica to the database and back. */
  readonly roundTripMs: number;
}

export interface Simulated {
  /** Shares of what there is; 1 and more: it does not keep up. */
  readonly database: number;
  readonly replica: number;
  /** Of the processor time of the database: what it goes into. */
  readonly parts: Readonly<Record<"publish" | "record" | "notifications" | "idle", number>>;
  readonly acknowledgedP50Ms: number;
  readonly acknowledgedP99Ms: number;
  /** Events that one statement keeps, on average. */
  readonly batch: number;
  readonly keepsUp: boolean;
}

/** As `eventPublisher` and the recorder have them. */
const mostPublished = 256;
const mostRecorded = 256;
const simulatedMs = 4_000;
/** A notification names so many applications at most. */
const mostNotified = 200;

interface Statement {
  readonly size: number;
  readonly kind: "publish" | "record";
  readonly replica: number;
  readonly cameAt: readonly number[];
}

/**
 * Simulates some seconds: events arrive at random at the replicas. In each of them, one statement that publishes is under way
 * at a time, and those that arrive meanwhile gather for the next; so do results. The database works off statements in
 * the order in which they come, one on a core, and commits wait for a sync that they share. The processor time of
 * notifications and of idle replicas is taken from its cores beforehand.
 */
export function simulate(platform: Platform, costs: Costs, given: Given, random: () => number): Simulated {
  const { eventsPerSecond, replicas, databaseCores } = platform;
  const run = new Run(platform, costs, given, random);
  const batch = run.go();
  const idle = replicas * costs.idleReplicaMs;
  const statementsPerSecond = (run.publishStatements / simulatedMs) * 1_000;
  const notifications = notificationsMs(statementsPerSecond, replicas, costs.notification, batch);
  const publish = (run.publishMs / simulatedMs) * 1_000;
  const record = (run.recordMs / simulatedMs) * 1_000;
  const replica = (eventsPerSecond / replicas) * given.replicaMs;
  const database = publish + record + notifications + idle;
  const available = databaseCores * 1_000;
  return {
    database: database / available,
    replica: replica / 1_000,
    parts: { publish, record, notifications, idle },
    acknowledgedP50Ms: percentile(run.acknowledgedMs, 0.5),
    acknowledgedP99Ms: percentile(run.acknowledgedMs, 0.99),
    batch,
    keepsUp: run.keepsUp() && database < available && replica < 1_000,
  };
}

/** In a second: each replica tells the others of what it has published for their endpoints. */
function notificationsMs(statements: number, replicas: number, cost: Cost, batch: number): number {
  if (replicas === 1) return 0;
  const each = Math.max(1, batch / mostNotified);
  return statements * each * (cost.fixedMs + replicas * cost.eachMs);
}

class Run {
  publishMs = 0;
  recordMs = 0;
  publishStatements = 0;
  readonly acknowledgedMs: number[] = [];
  #published = 0;
  #now = 0;
  readonly #events: { at: number; run: () => void }[] = [];
  readonly #waiting: Statement[] = [];
  #free: number;
  #syncing = false;
  #unsynced: (() => void)[] = [];
  readonly #toPublish: number[][];
  readonly #toRecord: number[];
  readonly #isPublishing: boolean[];
  readonly #isRecording: boolean[];

  constructor(
    readonly platform: Platform,
    readonly costs: Costs,
    readonly given: Given,
    readonly random: () => number,
  ) {
    const { replicas, databaseCores } = platform;
    this.#free = databaseCores;
    this.#toPublish = Array.from({ length: replicas }, () => []);
    this.#toRecord = Array<number>(replicas).fill(0);
    this.#isPublishing = Array<boolean>(replicas).fill(false);
    this.#isRecording = Array<boolean>(replicas).fill(false);
  }

  /** Gives the mean number of events of a statement. */
  go(): number {
    this.#arrive();
    for (let next = this.#pop(); next && next.at < simulatedMs; next = this.#pop()) {
      this.#now = next.at;
      next.run();
    }
    return this.#published / Math.max(1, this.publishStatements);
  }

  /** Whether nearly all that arrived was acknowledged. */
  keepsUp(): boolean {
    const left = this.#toPublish.reduce((sum, some) => sum + some.length, 0);
    return left < (this.platform.eventsPerSecond / 1_000) * 100;
  }

  #arrive(): void {
    const replica = Math.floor(this.random() * this.platform.replicas);
    this.#toPublish[replica]?.push(this.#now);
    this.#publish(replica);
    const gap = (-Math.log(1 - this.random()) * 1_000) / this.platform.eventsPerSecond;
    this.#after(gap, () => this.#arrive());
  }

  #publish(replica: number): void {
    const gathered = this.#toPublish[replica] ?? [];
    if (this.#isPublishing[replica] || gathered.length === 0) return;
    this.#isPublishing[replica] = true;
    const cameAt = gathered.splice(0, mostPublished);
    this.#send({ kind: "publish", replica, size: cameAt.length, cameAt });
  }

  #record(replica: number): void {
    const size = Math.min(mostRecorded, this.#toRecord[replica] ?? 0);
    if (this.#isRecording[replica] || size === 0) return;
    this.#isRecording[replica] = true;
    this.#toRecord[replica] = (this.#toRecord[replica] ?? 0) - size;
    this.#send({ kind: "record", replica, size, cameAt: [] });
  }

  #send(statement: Statement): void {
    this.#after(this.given.roundTripMs / 2, () => {
      this.#waiting.push(statement);
      this.#work();
    });
  }

  #work(): void {
    while (this.#free > 0) {
      const statement = this.#waiting.shift();
      if (!statement) return;
      this.#free--;
      const { fixedMs, eachMs } = this.costs[statement.kind];
      const ms = fixedMs + eachMs * statement.size;
      if (statement.kind === "publish") {
        this.publishMs += ms;
        this.publishStatements++;
      } else this.recordMs += ms;
      this.#after(ms, () => {
        this.#free++;
        this.#commit(() => this.#done(statement));
        this.#work();
      });
    }
  }

  /** A sync takes all that have committed before it begins. */
  #commit(done: () => void): void {
    this.#unsynced.push(done);
    if (this.#syncing) return;
    this.#syncing = true;
    const batch = this.#unsynced;
    this.#unsynced = [];
    this.#after(this.given.syncMs, () => {
      this.#syncing = false;
      for (const one of batch) this.#after(this.given.roundTripMs / 2, one);
      const next = this.#unsynced.pop();
      if (next) this.#commit(next);
    });
  }

  #done({ kind, replica, size, cameAt }: Statement): void {
    if (kind === "record") {
      this.#isRecording[replica] = false;
      this.#record(replica);
      return;
    }
    this.#published += size;
    for (const at of cameAt) this.acknowledgedMs.push(this.#now - at);
    this.#isPublishing[replica] = false;
    this.#publish(replica);
    // Delivered at random by some replica; its result comes back soon.
    const other = Math.floor(this.random() * this.platform.replicas);
    this.#after(20, () => {
      this.#toRecord[other] = (this.#toRecord[other] ?? 0) + size;
      this.#record(other);
    });
  }

  // A binary heap by time.
  #after(ms: number, run: () => void): void {
    const heap = this.#events;
    heap.push({ at: this.#now + ms, run });
    for (let i = heap.length - 1; i > 0; ) {
      const above = (i - 1) >> 1;
      if (!this.#swapIfEarlier(i, above)) return;
      i = above;
    }
  }

  #pop() {
    const heap = this.#events;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0 || !last) return first;
    heap[0] = last;
    for (let i = 0; ; ) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      const earlier = (heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? right : left;
      if (earlier >= heap.length || !this.#swapIfEarlier(earlier, i)) return first;
      i = earlier;
    }
  }

  #swapIfEarlier(i: number, above: number): boolean {
    const [one, other] = [this.#events[i], this.#events[above]];
    if (!one || !other || one.at >= other.at) return false;
    this.#events[i] = other;
    this.#events[above] = one;
    return true;
  }
}
