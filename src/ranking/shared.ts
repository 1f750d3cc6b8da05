import type { Category } from "../domain/categories.ts";
import type { Order } from "./order.ts";
import { PastOrders, useAgain } from "./past-orders.ts";
import { RankingView, type RankingWriter, refreshMs, type StandingsSource } from "./ranking.ts";
import { type LiveChannel, LiveChannels, nobodyLive, Standings, type StandingsData } from "./standings.ts";

/*
 * The ranking of several threads. One of them leads: it knows who is live, and takes new standings every second. All
 * show the same at any moment: first each is given the new standings, and only when all have them, the number of those
 * that hold is changed in memory that they share. So a cursor that one thread makes can be followed on every other.
 */

/** Standings as the leader gives them to each thread. */
export interface GivenStandings {
  readonly number: number;
  readonly data: StandingsData;
  /** The moments of orders that no walk goes on in any more. */
  readonly dropped: readonly number[];
}

/** Other threads, each of which is told what its ranking needs to know. */
export interface RankingFollowers {
  prepare(given: GivenStandings): Promise<void>;
  putCategories(categories: readonly Category[]): Promise<void>;
  removeCategories(ids: readonly number[]): Promise<void>;
}

/** Memory for the number of the standings that hold. */
export const holdingBytes = 4;

/** The standings as each thread has them. */
export class SharedStandings implements StandingsSource {
  readonly #holding: Int32Array;
  #number = 0;
  #standings = nobodyLive();
  #next: { readonly number: number; readonly standings: Standings } | null = null;
  /** By `takenAt`: that which holds, those of the past, and the next one. */
  readonly #orders = new Map<number, Order>();

  constructor(
    holding: ArrayBufferLike,
    readonly now: () => number,
  ) {
    this.#holding = new Int32Array(holding);
  }

  /** Keeps standings until they hold. Those that were given before do so by now. */
  prepare({ number, data, dropped }: GivenStandings): void {
    this.current();
    for (const takenAt of dropped) this.#orders.delete(takenAt);
    // What comes from another thread is a copy of the object, though not of its numbers.
    const order = this.#orders.get(data.order.takenAt) ?? data.order;
    this.#orders.set(order.takenAt, order);
    this.#next = { number, standings: new Standings({ ...data, order }) };
  }

  current(): Standings {
    const number = Atomics.load(this.#holding, 0);
    if (number !== this.#number && this.#next) {
      this.#number = number;
      this.#standings = this.#next.standings;
      this.#next = null;
    }
    return this.#standings;
  }

  past(takenAt: number): Order | null {
    return useAgain(this.#orders.get(takenAt), this.now());
  }
}

/** How often new standings are taken at most. Sooner than `refreshMs`, for the way to the other threads. */
export const takeEveryMs = refreshMs - 50;

const sharedMemory = (bytes: number) => new SharedArrayBuffer(bytes);

/** The ranking of the thread that leads. */
export class LeadingRanking extends RankingView implements RankingWriter {
  readonly #own: SharedStandings;
  readonly #holding: Int32Array;
  readonly #now: () => number;
  readonly #others: RankingFollowers;
  readonly #everyMs: number;
  readonly #live = new LiveChannels(sharedMemory);
  readonly #past = new PastOrders();
  #order: Order | null = null;
  #number = 0;
  #takenAt = Number.NEGATIVE_INFINITY;
  #state: "idle" | "waiting" | "taking" = "taking";

  constructor(
    holding: ArrayBufferLike,
    now: () => number,
    others: RankingFollowers,
    { everyMs = takeEveryMs } = {},
  ) {
    const own = new SharedStandings(holding, now);
    super(own);
    this.#own = own;
    this.#holding = new Int32Array(holding);
    this.#now = now;
    this.#others = others;
    this.#everyMs = everyMs;
  }

  override async putCategories(categories: readonly Category[]): Promise<void> {
    super.putCategories(categories);
    await this.#others.putCategories(categories);
  }

  override async removeCategories(ids: readonly number[]): Promise<void> {
    super.removeCategories(ids);
    await this.#others.removeCategories(ids);
  }

  putLive(livestreams: readonly LiveChannel[]): void {
    this.#live.put(livestreams);
    this.#takeSoon();
  }

  endLive(channelIds: readonly number[]): void {
    this.#live.end(channelIds);
    this.#takeSoon();
  }

  touch(): void {
    this.#live.touch();
    this.#takeSoon();
  }

  liveChannelIds(): number[] {
    return this.#live.ids;
  }

  /** Takes the first standings, which are there when it resolves, and from then on new ones when something changed. */
  start(): Promise<void> {
    return this.#take();
  }

  #takeSoon(): void {
    if (!this.#live.hasChanged || this.#state !== "idle") return;
    this.#state = "waiting";
    const waitMs = Math.max(0, this.#takenAt + this.#everyMs - performance.now());
    // Rejects only where a thread has broken down or the server stops: then there are no more.
    setTimeout(() => this.#take().catch(() => {}), waitMs).unref();
  }

  async #take(): Promise<void> {
    this.#state = "taking";
    this.#takenAt = performance.now();
    const before = this.#order;
    const data = this.#live.take(before, this.#now());
    this.#order = data.order;
    const isNew = before !== null && data.order !== before;
    const dropped = isNew ? this.#past.add(before, this.#now(), this.#now()) : [];
    const given = { number: ++this.#number, data, dropped };
    this.#own.prepare(given);
    await this.#others.prepare(given);
    if (isNew) before.usedAt[0] = this.#now();
    Atomics.store(this.#holding, 0, given.number);
    this.#state = "idle";
    this.#takeSoon();
  }
}
