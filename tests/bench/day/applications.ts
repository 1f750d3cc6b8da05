import type { Random } from "../../../src/dev/chance.ts";
import { json, type ServerClient } from "../../support/server.ts";
import { BenchError } from "../support/processes.ts";
import { filters, status, typeNames, usernameOf } from "./events.ts";
import type { Replica } from "./servers.ts";

/** What the developers of an application did well or badly. */
export interface Kind {
  readonly name: string;
  /** Of a thousand applications. */
  readonly share: number;
  /** What its receiver does, for the report. */
  readonly about: string;
  /** What may become of a delivery beside `delivered`. */
  readonly may?: readonly ("pending" | "expired" | "failed")[];
  /** True where no delivery can succeed. */
  readonly isDead?: boolean;
}

const late = ["pending", "expired"] as const;

/** The kinds of applications. Their order is that of the applications' numbers. */
export const kinds = [
  {
    name: "everything",
    share: 7,
    about: "large bots: each stream that starts or ends, of all channels or every fifth",
  },
  { name: "prompt", share: 400, about: "answer 204 at once" },
  { name: "one at a time", share: 100, about: "answer at once; a concurrency of one, so that order is seen" },
  { name: "filtering", share: 100, about: "answer at once; a filter for one event type" },
  { name: "stream", share: 50, about: "read the event stream, and continue where it ended" },
  {
    name: "rotating",
    share: 50,
    about: "replace their secret at ten, and use the new one from half past ten",
  },
  { name: "slow", share: 67, about: "answer after 0.5 to 2 s", may: late },
  { name: "flaky", share: 50, about: "answer 500 to a tenth of all requests", may: late },
  { name: "limited", share: 50, about: "answer 429 beyond four requests a second", may: late },
  { name: "outage", share: 33, about: "answer 503 from 14:00 to 15:00", may: late },
  { name: "hanging", share: 17, about: "do not answer within 15 s", may: late, isDead: true },
  { name: "wrong", share: 33, about: "answer 500 always", may: late, isDead: true },
  { name: "down", share: 26, about: "nothing listens at their URL", may: late, isDead: true },
  { name: "gone", share: 17, about: "answer 410", may: [...late, "failed"], isDead: true },
] as const satisfies readonly Kind[];

export type KindName = (typeof kinds)[number]["name"];

/** A subscription of an application. */
export interface Subscription {
  readonly id: string;
  readonly app: DayApplication;
  readonly type: number;
  readonly channel: number;
}

/** An application of the day. */
export interface DayApplication {
  readonly number: number;
  readonly kind: Kind & { readonly name: KindName };
  readonly id: string;
  readonly token: string;
  /** The secrets with which its receiver verifies: a delivery must be signed with one of them. */
  secrets: string[];
  /** The filter of one event type: an event of this type matches if it has the bit. */
  readonly filter: { readonly type: number; readonly bit: number } | null;
  readonly subscriptions: Subscription[];
}

/** Whether a subscription gets an event with these features. */
export function isWanted({ app: { filter }, type }: Subscription, features: number): boolean {
  return filter === null || filter.type !== type || (features & filter.bit) !== 0;
}

/** The number of applications of each kind, at least one each. */
function counts(total: number): Map<Kind & { name: KindName }, number> {
  const all = new Map(
    kinds.map((kind) => [
      kind as Kind & { name: KindName },
      Math.max(1, Math.round((kind.share * total) / 1000)),
    ]),
  );
  const [, prompt] = kinds;
  const others = [...all].reduce((sum, [kind, count]) => sum + (kind === prompt ? 0 : count), 0);
  return all.set(prompt, Math.max(1, total - others));
}

const setUpAtOnce = 48;

/** Channels whose events small applications subscribe to. */
const popular = 600;

/** Creates the applications, their filters and subscriptions. `receiver` is the URL of the receivers. */
export async function createApplications(
  servers: readonly ServerClient[],
  {
    count,
    channels,
    receiver,
    random,
  }: { count: number; channels: number; receiver: string; random: Random },
): Promise<DayApplication[]> {
  const made = [...counts(count)].flatMap(([kind, number]) => Array.from({ length: number }, () => kind));
  const applications: DayApplication[] = [];
  const server = servers[0] as ServerClient;
  for (const [number, kind] of made.entries()) {
    const url = kind.name === "down" ? "http://127.0.0.1:9/" : `${receiver}/${number}`;
    const filter = kind.name === "filtering" ? (filters[number % filters.length] ?? null) : null;
    const { id, token, webhook_secret } = await server.application({
      name: `${kind.name} ${number}`,
      webhook_url: url,
      ...(kind.name === "stream" && { delivery: "stream" }),
      ...(kind.name === "one at a time" && { webhook_concurrency: 1 }),
      ...(kind.name === "everything" && { rate_limit: 0, subscription_limit: Math.max(10_000, channels) }),
      ...(filter && { filters: { [typeNames[filter.type] ?? ""]: filter.condition } }),
    });
    applications.push({ number, kind, id, token, secrets: [webhook_secret], filter, subscriptions: [] });
  }
  const wanted = applications.flatMap((app) => wishes(app, channels, random));
  const next = wanted.values();
  const subscribing = async (server: ServerClient) => {
    for (const wish of next) await subscribe(server, wish);
  };
  const all = Array.from({ length: setUpAtOnce }, (_, i) => servers[i % servers.length] as ServerClient);
  await Promise.all(all.map(subscribing));
  return applications;
}

interface Wish {
  readonly app: DayApplication;
  readonly channel: number;
  readonly types: readonly number[];
}

/** What an application subscribes to: large bots to all channels, others to some popular ones. */
function wishes(app: DayApplication, channels: number, random: Random): Wish[] {
  if (app.kind.name === "everything")
    return Array.from({ length: channels }, (_, i) => ({ app, channel: i + 1, types: [status] })).filter(
      ({ channel }) => app.number === 0 || channel % 5 === 0,
    );
  const most = Math.min(popular, channels);
  const some = new Set(
    Array.from({ length: 4 + Math.floor(random() * 20) }, () => 1 + Math.floor(most * random() ** 1.5)),
  );
  const types = typeNames
    .map((_, type) => type)
    .filter((type) => type === app.filter?.type || random() < 0.6);
  return types.length === 0 ? [] : [...some].map((channel) => ({ app, channel, types }));
}

async function subscribe(server: ServerClient, { app, channel, types }: Wish): Promise<void> {
  const events = types.map((type) => ({ name: typeNames[type], version: 1 }));
  const body = { events, broadcaster_user_id: channel };
  const answer = await server.post("/public/v1/events/subscriptions", body, app.token);
  const { data } = await json<{ data: { subscription_id?: string }[] }>(answer);
  for (const [i, type] of types.entries()) {
    const id = data?.[i]?.subscription_id;
    if (id === undefined) throw new BenchError(`a subscription was refused: ${JSON.stringify(data)}`);
    app.subscriptions.push({ id, app, type, channel });
  }
}

const limitMs = 10_000;
const mostAtOnce = 100;

/** What applications ask of the public API all day, each under its own token. */
export class Calls {
  /** Since they were taken, in milliseconds; of answers other than 429. */
  latenciesMs: number[] = [];
  /** Answers by status, and requests without one. */
  readonly answers = new Map<string, number>();
  readonly #timers: Timer[] = [];
  #atOnce = 0;

  constructor(
    private readonly any: () => Replica | null,
    private readonly applications: readonly DayApplication[],
    private readonly channels: number,
  ) {}

  /** Starts them; `close` ends them. */
  start(): void {
    const prompt = this.applications.filter(({ kind }) => kind.name === "prompt");
    const [impatient, ...others] = prompt;
    const one = () => others[Math.floor(Math.random() * others.length)];
    const channel = () => 1 + Math.floor(this.channels * Math.random() ** 2);
    this.#every(10, () => this.#get(`users/${usernameOf(channel())}`, one()));
    this.#every(2, () => this.#get(`users/search?query=streamer_${channel()}`, one()));
    this.#every(3, () => this.#get("categories?limit=50", one()));
    this.#every(1, () => this.#get("events/deliveries?limit=20", one()));
    this.#every(1, () => this.#get("application", one()));
    // At its limit, which is set to a request a second.
    this.#every(3, () => this.#get(`users/${usernameOf(channel())}`, impatient));
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #every(perSecond: number, call: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void call(), 1_000 / perSecond));
  }

  async #get(path: string, app: DayApplication | undefined): Promise<void> {
    const server = this.any();
    if (!server || !app || this.#atOnce >= mostAtOnce) return this.#count("not sent");
    this.#atOnce++;
    const at = performance.now();
    try {
      const answer = await server.get(`/public/v1/${path}`, app.token, {
        signal: AbortSignal.timeout(limitMs),
      });
      await answer.arrayBuffer();
      if (answer.status !== 429) this.latenciesMs.push(performance.now() - at);
      this.#count(String(answer.status));
    } catch {
      this.#count("no answer");
    } finally {
      this.#atOnce--;
    }
  }

  #count(kind: string): void {
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1);
  }
}
