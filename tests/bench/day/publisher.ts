import { ndjson } from "../../support/server.ts";
import { type NewDayEvent, typeNames } from "./events.ts";
import { idOf } from "./receivers.ts";
import type { Replica } from "./servers.ts";

/** An event that the platform has decided to publish. */
export interface DayEvent {
  readonly type: number;
  readonly channel: number;
  readonly features: number;
  /** When the first request with it was begun, by `performance.now`; 0 before. */
  begunAt: number;
  /** When it was acknowledged for the first time, in Unix milliseconds; 0 before. */
  acknowledgedAt: number;
  /** Whether it was published again because its database was lost. */
  isRepublished: boolean;
}

const atOnce = 24;
const mostInBatch = 100;
const longestWaitMs = 10_000;
const pauseMs = 250;
const mostProblems = 10;

interface Waiting {
  readonly number: number;
  readonly line: string;
}

/** The platform's backend: it publishes each event until it is acknowledged, by any server. */
export class Publisher {
  readonly events: DayEvent[] = [];
  /** Times to acknowledgements since they were taken, in milliseconds. */
  latenciesMs: number[] = [];
  /** Answers other than 202, by status or kind of failure. */
  readonly failures = new Map<string, number>();
  readonly problems: string[] = [];
  readonly #waiting: Waiting[] = [];
  #kept: Waiting[] | null = null;
  #busy = 0;
  #acknowledged = 0;
  #isEnded = false;

  constructor(private readonly any: () => Replica | null) {
    for (let i = 0; i < atOnce; i++) void this.#work();
  }

  publish({ data, ...event }: NewDayEvent): void {
    const number = this.events.length;
    this.events.push({ ...event, begunAt: 0, acknowledgedAt: 0, isRepublished: false });
    const id = idOf(number);
    const input = { id, name: typeNames[event.type], version: 1, broadcaster_user_id: event.channel, data };
    this.#waiting.push({ number, line: JSON.stringify(input) });
  }

  /** Events that are not acknowledged yet. */
  get outbox(): number {
    return this.#waiting.length + this.#busy;
  }

  /** The number of events acknowledged since the last call. */
  takeAcknowledged(): number {
    const taken = this.#acknowledged;
    this.#acknowledged = 0;
    return taken;
  }

  /** From now on keeps what is acknowledged, as a platform does that publishes again what a backup lacks. */
  keep(): void {
    this.#kept = [];
  }

  /** Publishes all again that was acknowledged since {@link keep}. Gives their number. */
  republish(): number {
    const kept = this.#kept ?? [];
    this.#kept = null;
    // Requests whose answer was lost with the server are made again: their events may have been sent.
    for (const event of this.events)
      if (event.begunAt > 0 && event.acknowledgedAt === 0) event.isRepublished = true;
    for (const { number } of kept) {
      const event = this.events[number];
      if (event) event.isRepublished = true;
    }
    this.#waiting.unshift(...kept);
    return kept.length;
  }

  /** Resolves when all is acknowledged; false if it is not in time. */
  async settled(limitMs: number): Promise<boolean> {
    for (const end = performance.now() + limitMs; this.outbox > 0; await Bun.sleep(20))
      if (performance.now() > end) return false;
    return true;
  }

  end(): void {
    this.#isEnded = true;
  }

  async #work(): Promise<void> {
    for (; !this.#isEnded; ) {
      // Alone as a rule, and together where many wait.
      const count = Math.min(mostInBatch, Math.ceil(this.#waiting.length / atOnce));
      const batch = this.#waiting.splice(0, count);
      if (batch.length === 0) {
        await Bun.sleep(5);
        continue;
      }
      this.#busy += batch.length;
      for (const { number } of batch) {
        const event = this.events[number];
        if (event && event.begunAt === 0) event.begunAt = performance.now();
      }
      while (!this.#isEnded && !(await this.#isAcknowledged(batch))) await Bun.sleep(pauseMs);
      this.#busy -= batch.length;
    }
  }

  async #isAcknowledged(batch: readonly Waiting[]): Promise<boolean> {
    const server = this.any();
    if (!server) return false;
    const at = performance.now();
    const isOne = batch.length === 1;
    const body = isOne ? JSON.parse(batch[0]?.line ?? "") : ndjson(batch.map(({ line }) => JSON.parse(line)));
    try {
      const answer = await within(server.admin("POST", "/admin/v1/events", body), longestWaitMs);
      const text = await answer.text();
      if (answer.status !== 202) {
        this.#fail(String(answer.status));
        const isFinal = answer.status < 500 && answer.status !== 429;
        if (isFinal && this.problems.length < mostProblems)
          this.problems.push(`publishing was answered with ${answer.status}: ${text}`);
        return isFinal;
      }
      const { rejected = 0 } = JSON.parse(text) as { rejected?: number };
      if (rejected > 0) {
        this.#fail("a part refused");
        return false;
      }
    } catch (error) {
      this.#fail(error instanceof Error && error.name === "Late" ? "no answer" : "no connection");
      return false;
    }
    this.latenciesMs.push(performance.now() - at);
    this.#acknowledged += batch.length;
    for (const one of batch) {
      const event = this.events[one.number];
      if (event && event.acknowledgedAt === 0) event.acknowledgedAt = Date.now();
      this.#kept?.push(one);
    }
    return true;
  }

  #fail(kind: string): void {
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1);
  }
}

class Late extends Error {
  override name = "Late";
}

async function within<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late()), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
