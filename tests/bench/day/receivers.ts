import { createHmac } from "node:crypto";
import { followStream } from "../../../src/client/stream.ts";
import type { DayApplication, Subscription } from "./applications.ts";
import type { Replica } from "./servers.ts";

/** A delivery, as receivers saw it, by its `webhook-id`. */
export interface Arrival {
  readonly event: number;
  readonly subscription: string;
  readonly sequence: number;
  /** When an attempt was answered with a 2xx in time, or a reader of the stream got it, in Unix milliseconds; 0 before. */
  acceptedAt: number;
  requests: number;
  /** Whether the database has it at the end. */
  isKnown: boolean;
}

/** The number of an event in its id. */
export const numberOf = (id: string): number => Number(id.slice(1));
export const idOf = (number: number): string => `d${number}`;

const mostProblems = 50;

/** What arrives at receivers and streams, and which rules it breaks. */
export class Ledger {
  readonly arrivals = new Map<string, Arrival>();
  readonly problems: string[] = [];
  /** By kind of application, requests at receivers. */
  readonly requests = new Map<string, number>();
  /** First attempts that arrived after one with a higher sequence, at applications with more than one at a time. */
  overtaken = 0;
  /** Requests with a delivery that had been accepted before. */
  repeated = 0;
  readonly #highest = new Map<string, number>();
  readonly #bodies = new Map<number, bigint>();
  /** Told of the first arrival of an event at an application. */
  onFirst: (event: number, app: DayApplication) => void = () => {};

  problem(text: string): void {
    if (this.problems.length < mostProblems) this.problems.push(text);
  }

  /** Enters a request of a webhook, or a frame of a stream. */
  enter(app: DayApplication, header: (name: string) => string | null, body: string): Arrival {
    const id = header("webhook-id") ?? "";
    const event = numberOf(header("onair-event-id") ?? "");
    const subscription = header("onair-subscription-id") ?? "";
    const sequence = Number(header("onair-sequence"));
    this.requests.set(app.kind.name, (this.requests.get(app.kind.name) ?? 0) + 1);
    this.#verify(app, id, header, body);
    const hash = Bun.hash.wyhash(body);
    if ((this.#bodies.get(event) ?? hash) !== hash) this.problem(`${idOf(event)} came with two bodies`);
    this.#bodies.set(event, hash);
    const known = this.arrivals.get(id);
    if (known) {
      if (known.event !== event || known.subscription !== subscription || known.sequence !== sequence)
        this.problem(`${id} came again as another delivery`);
      if (known.acceptedAt > 0) this.repeated++;
      known.requests++;
      return known;
    }
    const highest = this.#highest.get(subscription) ?? 0;
    if (sequence < highest) {
      this.overtaken++;
      if (app.kind.name === "one at a time" || app.kind.name === "stream")
        this.problem(`${subscription} of ${app.kind.name} ${app.number}: ${sequence} came after ${highest}`);
    } else this.#highest.set(subscription, sequence);
    const arrival = { event, subscription, sequence, acceptedAt: 0, requests: 1, isKnown: false };
    this.arrivals.set(id, arrival);
    this.onFirst(event, app);
    return arrival;
  }

  /**
   * The database went back in time: sequences are used again, and events that are published again have another
   * timestamp in their bodies.
   */
  restored(): void {
    this.#highest.clear();
    this.#bodies.clear();
  }

  #verify(app: DayApplication, id: string, header: (name: string) => string | null, body: string): void {
    const content = `${id}.${header("webhook-timestamp")}.${body}`;
    const given = (header("webhook-signature") ?? "").split(" ");
    const isSigned = (secret: string) => {
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      return given.includes(`v1,${createHmac("sha256", key).update(content).digest("base64")}`);
    };
    if (!app.secrets.some(isSigned))
      this.problem(`${id} to ${app.kind.name} ${app.number} is not signed with its secret`);
  }
}

const hangingMs = 20_000;
const mostOfLimited = 4;

/** The endpoints of all applications on one port, by the number in the path. */
export class Receivers {
  applications: readonly DayApplication[] = [];
  /** Whether the applications with an outage have it now. */
  isOutage = false;
  readonly #seconds = new Map<number, { second: number; requests: number }>();
  readonly #server: Bun.Server<undefined>;

  constructor(readonly ledger: Ledger) {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 120,
      fetch: async (request) => {
        const app = this.applications[Number(request.url.slice(request.url.lastIndexOf("/") + 1))];
        const body = await request.text();
        if (!app) return new Response(null, { status: 404 });
        const arrival = ledger.enter(app, (name) => request.headers.get(name), body);
        const [status, headers] = await this.#answer(app);
        if (status < 300 && app.kind.name !== "hanging") arrival.acceptedAt ||= Date.now();
        return new Response(null, { status, headers });
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async #answer({ kind, number }: DayApplication): Promise<[number, Record<string, string>]> {
    switch (kind.name) {
      case "slow":
        await Bun.sleep(500 + 1_500 * Math.random());
        return [204, {}];
      case "hanging":
        await Bun.sleep(hangingMs);
        return [204, {}];
      case "flaky":
        return [Math.random() < 0.1 ? 500 : 204, {}];
      case "wrong":
        return [500, {}];
      case "gone":
        return [410, {}];
      case "outage":
        return [this.isOutage ? 503 : 204, {}];
      case "limited":
        return this.#isBeyond(number) ? [429, { "retry-after": "1" }] : [204, {}];
      default:
        return [204, {}];
    }
  }

  #isBeyond(number: number): boolean {
    const second = Math.floor(Date.now() / 1000);
    const known = this.#seconds.get(number);
    const requests = known?.second === second ? known.requests + 1 : 1;
    this.#seconds.set(number, { second, requests });
    return requests > mostOfLimited;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}

/** A range of time whose events a stream said it no longer had. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Readers of event streams, which continue at any server where one ends. */
export class Streams {
  readonly #end = new AbortController();
  /** By application. */
  readonly gaps = new Map<DayApplication, Gap[]>();
  interruptions = 0;

  constructor(
    readonly ledger: Ledger,
    private readonly any: () => Replica | null,
  ) {}

  follow(app: DayApplication): void {
    this.gaps.set(app, []);
    void this.#read(app).catch((error) => this.ledger.problem(`the stream of ${app.number} ended: ${error}`));
  }

  async #read(app: DayApplication): Promise<void> {
    const source = {
      fetch: (path: string, init: RequestInit) => {
        const server = this.any();
        if (!server) throw new Error("no server runs");
        const headers = new Headers(init.headers);
        headers.set("authorization", `Bearer ${app.token}`);
        return fetch(server.publicUrl + path, { ...init, headers });
      },
    };
    const { signal } = this.#end;
    const interrupted = () => void this.interruptions++;
    for await (const { type, data } of followStream(source, { after: new Date(), signal, interrupted })) {
      if (type === "gap") {
        const { from, to } = JSON.parse(data) as { from: string; to: string };
        this.gaps.get(app)?.push({ from: Date.parse(from), to: Date.parse(to) });
        continue;
      }
      const { headers, body } = JSON.parse(data) as { headers: Record<string, string>; body: string };
      if (headers["onair-event-id"] === undefined) continue;
      this.ledger.enter(app, (name) => headers[name] ?? null, body).acceptedAt ||= Date.now();
    }
  }

  close(): void {
    this.#end.abort();
  }
}

/** Subscriptions by type and channel. */
export function subscriptionsByKey(applications: readonly DayApplication[]): Map<string, Subscription[]> {
  const all = new Map<string, Subscription[]>();
  for (const subscription of applications.flatMap((app) => app.subscriptions)) {
    const key = keyOf(subscription);
    const known = all.get(key);
    if (known) known.push(subscription);
    else all.set(key, [subscription]);
  }
  return all;
}

export const keyOf = ({ type, channel }: { readonly type: number; readonly channel: number }): string =>
  `${type} ${channel}`;
