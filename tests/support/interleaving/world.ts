import { pick } from "../../../src/dev/chance.ts";
import { ndjson } from "../server.ts";

/** A stretch of time, in milliseconds of `performance.now()`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One write of a value. */
export interface Write<T> {
  readonly value: T;
  /** When its request began. */
  readonly startedAt: number;
  /** When its answer was there; Infinity before that. */
  ackedAt: number;
}

/** All that was ever written to one key, and so what a reader may see of it. Writes may overlap. */
export class Register<T> {
  readonly #writes: Write<T>[];

  constructor(initial: T) {
    const ever = Number.NEGATIVE_INFINITY;
    this.#writes = [{ value: initial, startedAt: ever, ackedAt: ever }];
  }

  /** Notes that a write begins; its answer is noted in what this gives. */
  begin(value: T): Write<T> {
    const write = { value, startedAt: performance.now(), ackedAt: Number.POSITIVE_INFINITY };
    this.#writes.push(write);
    return write;
  }

  /**
   * What an answer may show whose request was under way for so long: nothing that began only afterwards, and nothing
   * behind which another write was begun and acknowledged before the request, or `behindMs` before it.
   */
  possible({ from, to }: Span, behindMs = 0): Write<T>[] {
    const overwritten = this.#writes
      .filter(({ ackedAt }) => ackedAt < from - behindMs)
      .reduce((latest, { startedAt }) => Math.max(latest, startedAt), Number.NEGATIVE_INFINITY);
    return this.#writes.filter(({ startedAt, ackedAt }) => startedAt <= to && ackedAt >= overwritten);
  }

  /** When this value may have been there: from its beginning until one that followed it was acknowledged. */
  lifetime(write: Write<T>): Span {
    const next = this.#writes
      .filter(({ startedAt }) => startedAt > write.ackedAt)
      .reduce((earliest, { ackedAt }) => Math.min(earliest, ackedAt), Number.POSITIVE_INFINITY);
    return { from: write.startedAt, to: next };
  }
}

/**
 * Whether there was one moment within the span at which all of these were there together: of each, one of its lifetimes
 * holds that moment.
 */
export function haveOneMoment({ from, to }: Span, lifetimes: readonly (readonly Span[])[]): boolean {
  const starts = lifetimes.flat().map((life) => life.from);
  const moments = [from, ...starts.filter((start) => start > from && start <= to)];
  return moments.some((moment) =>
    lifetimes.every((lives) => lives.some((life) => life.from <= moment && moment <= life.to)),
  );
}

/** The server under test. Each request has a connection of its own. */
export interface Target {
  readonly publicUrl: string;
  readonly adminUrl: string;
  readonly adminKey: string;
}

/** An answer that was read to its end, and how long its request was under way. */
export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly span: Span;
}

/** Numbers from 0 to below 1. */
export type Random = () => number;

/** Something that a client may do. It rejects only where the server does what it must not. */
export interface Action {
  readonly name: string;
  /** How often it is done, compared with others. */
  readonly weight: number;
  run(random: Random): Promise<void>;
}

/** A part of the platform that is changed and looked at. */
export interface Scene {
  readonly actions: readonly Action[];
  /** Looks at everything once more, when nothing is changed any longer. */
  settled(): Promise<void>;
}

const maxProblems = 5;

/** What all scenes share: the server, the versions, and the account of what was wrong. */
export class World {
  readonly problems: string[] = [];
  #stamps = 0;

  constructor(
    readonly target: Target,
    readonly random: Random,
  ) {}

  /** A number that stands in every field of one version of a row, and in no other version. */
  stamp(): number {
    return ++this.#stamps;
  }

  /** Notes what must not be. */
  wrong(what: string, details: unknown): void {
    if (this.problems.length < maxProblems)
      this.problems.push(`${what}: ${Bun.inspect(details, { depth: 6 })}`);
  }

  get isOver(): boolean {
    return this.problems.length >= maxProblems;
  }

  /** A request to a public listener. */
  ask(path: string, { token, ...init }: RequestInit & { token?: string } = {}): Promise<Seen> {
    const headers = new Headers(init.headers);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    return this.#send(this.target.publicUrl + path, { ...init, headers });
  }

  /** A request to the admin listener; an array of rows is sent as NDJSON. Notes an answer that is no success. */
  async admin(method: string, path: string, body?: object): Promise<Seen> {
    const rows = Array.isArray(body) ? ndjson(body) : null;
    const seen = await this.#send(this.target.adminUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.target.adminKey}`,
        "content-type": rows === null ? "application/json" : "application/x-ndjson",
      },
      ...(body && { body: rows ?? JSON.stringify(body) }),
    });
    const refused = rows !== null && (JSON.parse(seen.text) as { rejected?: number }).rejected !== 0;
    if (seen.status >= 300 || refused) this.wrong(`${method} ${path} fails`, [body, seen.status, seen.text]);
    return seen;
  }

  /** Makes a change whose writes have begun, and notes that they are acknowledged. */
  async change(writes: readonly Write<unknown>[], make: () => Promise<unknown>): Promise<void> {
    await make();
    const ackedAt = performance.now();
    for (const write of writes) write.ackedAt = ackedAt;
  }

  async #send(url: string, init: RequestInit): Promise<Seen> {
    const from = performance.now();
    // Without it, connections would be used again, and with them the thread that answers.
    const answer = await fetch(url, { redirect: "manual", ...init, keepalive: false });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, span: { from, to: performance.now() } };
  }
}

/** Things of which each is changed by one at a time; readers prefer what is being changed. */
export class Turns<T> {
  readonly #busy = new Set<T>();

  constructor(readonly all: readonly T[]) {}

  /** Has one that is free changed; does nothing where there is none. */
  async take(random: Random, change: (one: T) => Promise<void>): Promise<void> {
    const free = this.all.filter((one) => !this.#busy.has(one));
    if (free.length === 0) return;
    const one = pick(random, free);
    this.#busy.add(one);
    try {
      await change(one);
    } finally {
      this.#busy.delete(one);
    }
  }

  /** One to look at. */
  any(random: Random): T {
    return this.#busy.size > 0 && random() < 0.8 ? pick(random, [...this.#busy]) : pick(random, this.all);
  }
}
