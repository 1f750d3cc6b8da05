import { Database } from "bun:sqlite";
import { join } from "node:path";
import { SQL } from "bun";
import { type RunOptions, type ServerProcess, serve } from "./process.ts";
import { event as sample, subscriber } from "./publishing.ts";
import { users } from "./real-data.ts";
import { ndjson, temporaryDirectory } from "./server.ts";

interface Delivery {
  readonly event: string;
  readonly subscription: string;
  readonly sequence: number;
  /** Hash of the body. */
  readonly body: string;
  succeeded: boolean;
}

/** A receiver that records, in little memory, which deliveries arrive and which rules they break. */
class DeliveryLedger {
  /** By `webhook-id`. */
  readonly #deliveries = new Map<string, Delivery>();
  readonly #problems = new Set<string>();
  /** The highest sequence of each subscription so far. */
  readonly #highest = new Map<string, number>();
  readonly #overtaken: string[] = [];
  readonly #lastArrivals = new Map<string, number>();
  readonly #server: Bun.Server<undefined>;
  requests = 0;

  /** @param failing the share of deliveries whose first attempt is answered with 500 */
  constructor({ random, failing }: { random: () => number; failing: number }) {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const delivery = this.#enter(request.headers, await request.text());
        if (delivery.first && random() < failing) return new Response(null, { status: 500 });
        delivery.entry.succeeded = true;
        return new Response(null, { status: 204 });
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Distinct `webhook-id`s so far. */
  get deliveries(): number {
    return this.#deliveries.size;
  }

  #enter(headers: Headers, bytes: string): { entry: Delivery; first: boolean } {
    this.requests++;
    const text = (name: string) => headers.get(name) ?? "";
    const id = text("webhook-id");
    const event = text("onair-event-id");
    const subscription = text("onair-subscription-id");
    const sequence = Number(headers.get("onair-sequence"));
    this.#lastArrivals.set(subscription, performance.now());
    const body = Bun.hash(bytes).toString(36);
    const known = this.#deliveries.get(id);
    if (!known) {
      const entry = { event, subscription, sequence, body, succeeded: false };
      this.#deliveries.set(id, entry);
      const highest = this.#highest.get(subscription) ?? 0;
      if (sequence < highest) this.#overtaken.push(`${subscription}: ${sequence} came behind ${highest}`);
      this.#highest.set(subscription, Math.max(sequence, highest));
      return { entry, first: true };
    }
    if (known.event !== event || known.subscription !== subscription || known.sequence !== sequence) {
      this.#problems.add(`webhook-id ${id} came with other headers`);
    }
    if (known.body !== body) this.#problems.add(`webhook-id ${id} came with another body`);
    return { entry: known, first: false };
  }

  /** True when a delivery of this event to this subscription was answered with a 2xx. */
  delivered(event: string, subscription: string): boolean {
    return this.#byKey().get(`${event} ${subscription}`)?.succeeded === true;
  }

  #keys: Map<string, Delivery> | null = null;

  #byKey(): Map<string, Delivery> {
    if (this.#keys?.size !== this.#deliveries.size) {
      const entries = [...this.#deliveries.values()];
      this.#keys = new Map(entries.map((one) => [`${one.event} ${one.subscription}`, one]));
    }
    return this.#keys;
  }

  /** The time, by `performance.now`, of the latest delivery to a subscription. */
  lastArrival(subscription: string): number | undefined {
    return this.#lastArrivals.get(subscription);
  }

  /** Descriptions of deliveries that first arrived after one with a higher sequence. */
  get overtaken(): readonly string[] {
    return this.#overtaken;
  }

  /** Descriptions of the broken rules. */
  problems(): string[] {
    const problems = [...this.#problems];
    const ids = new Map<string, string>();
    const bodies = new Map<string, string>();
    const sequences = new Map<string, number[]>();
    for (const [id, { event, subscription, sequence, body }] of this.#deliveries) {
      const key = `${event} ${subscription}`;
      if (ids.has(key)) problems.push(`${event} came to ${subscription} as ${ids.get(key)} and as ${id}`);
      ids.set(key, id);
      if ((bodies.get(event) ?? body) !== body) problems.push(`${event} has several bodies`);
      bodies.set(event, body);
      const known = sequences.get(subscription);
      if (known) known.push(sequence);
      else sequences.set(subscription, [sequence]);
    }
    for (const [subscription, numbers] of sequences) {
      const wrong = numbers.sort((a, b) => a - b).findIndex((number, i) => number !== i + 1);
      if (wrong !== -1) {
        problems.push(`${subscription}: ${numbers[wrong]} stands where ${wrong + 1} should`);
      }
    }
    return problems;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}

const longestDrainMs = 60_000;

interface StatusCount {
  readonly status: string;
  readonly count: number;
}

const statusCounts = "SELECT status, CAST(count(*) AS int) AS count FROM deliveries GROUP BY status";

/** Waits until nothing is pending, or what is does not become less for long; gives what is wrong then. */
async function drained(counts: () => Promise<readonly StatusCount[]>): Promise<string[]> {
  const pending = async () => (await counts()).find(({ status }) => status === "pending")?.count ?? 0;
  let least = Number.POSITIVE_INFINITY;
  let end = Date.now() + longestDrainMs;
  for (let left = await pending(); left > 0 && Date.now() < end; left = await pending()) {
    if (left < least) end = Date.now() + longestDrainMs;
    least = Math.min(least, left);
    await Bun.sleep(50);
  }
  return (await counts())
    .filter(({ status }) => status !== "delivered")
    .map(({ status, count }) => `${count} deliveries are ${status} at the end`);
}

/** Waits for the server on a file of SQLite, which must be sound then. */
async function drainedFile(file: string): Promise<string[]> {
  const db = new Database(file, { readonly: true });
  try {
    const statuses = db.prepare<StatusCount, []>(statusCounts);
    const problems = await drained(async () => statuses.all());
    const { integrity_check } = db
      .prepare<{ integrity_check: string }, []>("PRAGMA integrity_check(1)")
      .get() ?? { integrity_check: "none" };
    if (integrity_check !== "ok") problems.push(`the database is damaged: ${integrity_check}`);
    return problems;
  } finally {
    db.close();
  }
}

/** Waits for the servers on a database of PostgreSQL. */
async function drainedPostgres(url: string): Promise<string[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    return await drained(() => sql.unsafe(statusCounts));
  } finally {
    await sql.close();
  }
}

const event = "channel.followed";
const broadcasters = [1001, 1002, 1003] as const;
/** Twelve applications, so that each of several replicas owns some of them. */
const oneEach = Array.from({ length: 12 }, (_, i) => [broadcasters[i % broadcasters.length] ?? 0]);

const publisherCount = 12;
const batchSize = 20;
/** The time after which a publisher repeats a request. */
const longestWaitMs = 2_000;

export interface FaultRunOptions {
  /** The URL of an empty PostgreSQL database shared by all replicas. Without it they use a data directory. */
  readonly database?: string | undefined;
  /** Arguments that start each replica; by default those for that database. */
  readonly replicas: readonly RunOptions[];
  /** For each application, the broadcasters that it subscribes to. */
  readonly subscribers?: readonly (readonly number[])[];
  /** Concurrent attempts per endpoint. With one, deliveries must arrive in order. */
  readonly concurrency?: number | null;
  /** Publishing pauses while more deliveries than this are pending. */
  readonly backlog?: number;
  /**
   * How long each publisher waits after each acknowledgement: by default so long that the run leaves most of the
   * processors to others. With 0 it takes all of them.
   */
  readonly pauseMs?: number;
  /** Returns numbers from 0 to below 1; the source of every random choice. */
  readonly random?: () => number;
  /** The share of deliveries whose first attempt is answered with 500. They are retried after 5 s. */
  readonly failing?: number;
  /** Injects faults into the replicas while they accept events and deliver them. */
  readonly faults: (replicas: readonly TestReplica[], run: FaultRun) => Promise<void>;
}

/** A run in progress. */
interface FaultRun {
  /** Resolves when every application has received a delivery since this call. */
  allServed(): Promise<void>;
  /** The number of acknowledged events and of received requests. */
  counts(): { readonly acknowledged: number; readonly requests: number };
}

/** A server of a run. */
export interface TestReplica {
  readonly server: ServerProcess;
  /** Stops publishing to it, ends it by a signal and returns its exit code. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
  readonly isRunning: boolean;
  /** Starts it again, or another executable in its place. */
  start(command?: readonly string[]): Promise<void>;
  /** Starts it and kills it after this time, ready or not. */
  startAndKill(afterMs: number): Promise<void>;
  /** True while publishers send to it, as a load balancer does that has not yet noticed that it is down. */
  isPublishedTo: boolean;
}

export interface FaultReport {
  readonly acknowledged: number;
  readonly deliveries: number;
  /** May exceed the number of deliveries, because an attempt that was not recorded is repeated. */
  readonly requests: number;
  /** A description of every broken promise; empty after a correct run. */
  readonly problems: readonly string[];
}

/**
 * Publishes to one or several servers on the same data while faults are injected. Like a platform, publishers repeat
 * events that were not acknowledged. Then the servers deliver the rest and are ended by SIGTERM, and the received
 * deliveries are compared with the promises.
 */
export async function faultRun({
  database,
  replicas,
  subscribers = oneEach,
  concurrency = 1,
  backlog = 1_000,
  pauseMs = 500,
  random = Math.random,
  failing = 0,
  faults,
}: FaultRunOptions): Promise<FaultReport> {
  const directory = temporaryDirectory();
  const ledger = new DeliveryLedger({ random, failing });
  const place = database === undefined ? { ONAIR_DATA: directory.path } : { ONAIR_DATABASE: database };
  const slots = replicas.map((run) => replicaOn({ ...run, env: { ...place, ...run.env } }));
  try {
    await Promise.all(slots.map((slot) => slot.start()));
    const first = slots[0]?.server;
    if (!first) throw new Error("a run has at least one server");
    const subscriptions = await setUp(first, ledger.url, subscribers, concurrency);
    let next = 0;
    const running = {
      get server() {
        const alive = slots.filter((slot) => slot.isRunning && slot.isPublishedTo);
        return alive[next++ % alive.length]?.server ?? null;
      },
    };
    const perEvent = subscribers.flat().length / broadcasters.length;
    const isTooFar = (acknowledged: number) => acknowledged * perEvent - ledger.deliveries > backlog;
    const publishing = publishers(running, { random, pauseMs, isTooFar });
    const { acknowledged } = publishing;
    const run: FaultRun = {
      allServed: () => allServed(ledger, subscriptions),
      counts: () => ({ acknowledged: acknowledged.size, requests: ledger.requests }),
    };
    await run.allServed();
    await faults(slots, run);
    await publishing.stop();
    const problems = database
      ? await drainedPostgres(database)
      : await drainedFile(join(directory.path, "onair.db"));
    problems.push(...ledger.problems());
    if (concurrency === 1) problems.push(...ledger.overtaken);
    for (const [id, broadcaster] of acknowledged) {
      for (const subscription of subscriptions.get(broadcaster) ?? []) {
        if (!ledger.delivered(id, subscription)) problems.push(`${id} never reached ${subscription}`);
      }
    }
    for (const slot of slots.filter(({ isRunning }) => isRunning)) {
      const code = await slot.end("SIGTERM");
      if (code !== 0) problems.push(`a server ended with ${code}`);
    }
    const { requests, deliveries } = ledger;
    return { acknowledged: acknowledged.size, requests, deliveries, problems };
  } finally {
    await Promise.all(slots.map((slot) => slot.isRunning && slot.end("SIGKILL")));
    await ledger.stop();
    directory.remove();
  }
}

interface KillRunOptions extends Pick<FaultRunOptions, "database" | "failing"> {
  readonly kills: number;
  readonly random: () => number;
  /** How the server is ended; `SIGTERM` is what a service manager sends for a restart. */
  readonly signal?: "SIGKILL" | "SIGTERM";
  readonly run?: RunOptions;
  readonly progress?: (kills: number, acknowledged: number, arrived: number) => void;
}

/** The longest time in milliseconds from ready to a kill. */
const longestLifeMs = 400;

/** Ends one server repeatedly at random moments. With SIGKILL also while it starts. */
export function killRun(options: KillRunOptions): Promise<FaultReport> {
  const { kills, random, signal = "SIGKILL", run = {}, progress, ...rest } = options;
  return faultRun({
    ...rest,
    random,
    replicas: [run],
    subscribers: [[1001], [1001, 1002], [1001, 1002, 1003]],
    concurrency: null,
    backlog: Number.POSITIVE_INFINITY,
    // A life is so short that each moment of it must have requests.
    pauseMs: 0,
    async faults([server], { counts }) {
      for (let killed = 0; killed < kills && server; killed++) {
        await Bun.sleep(random() * longestLifeMs);
        const code = await server.end(signal);
        if (signal === "SIGTERM" && code !== 0) throw new Error(`the server ended with ${code}`);
        if (signal === "SIGKILL" && random() < 0.2) await server.startAndKill(random() * longestLifeMs);
        await server.start();
        const { acknowledged, requests } = counts();
        progress?.(killed + 1, acknowledged, requests);
      }
    },
  });
}

function replicaOn(run: RunOptions): TestReplica {
  const args = ["--allow-private-webhooks", "--rate-limit", "0"];
  let server: ServerProcess | null = null;
  let isRunning = false;
  const endWithThis = () => void server?.end("SIGKILL");
  return {
    isPublishedTo: true,
    get isRunning() {
      return isRunning;
    },
    get server() {
      if (!server) throw new Error("the server was never started");
      return server;
    },
    async start(command) {
      server = await serve(args, { ...run, ...(command && { command }) });
      isRunning = true;
      process.once("exit", endWithThis);
    },
    async startAndKill(afterMs) {
      const started = await serve(args, { ...run, killAfterMs: afterMs }).catch(() => null);
      await started?.end("SIGKILL");
    },
    async end(signal) {
      isRunning = false;
      process.off("exit", endWithThis);
      return (await server?.end(signal)) ?? null;
    },
  };
}

async function allServed(
  ledger: DeliveryLedger,
  subscriptions: ReadonlyMap<number, string[]>,
): Promise<void> {
  const all = [...subscriptions.values()].flat();
  const since = performance.now();
  while (!all.every((id) => (ledger.lastArrival(id) ?? 0) > since)) await Bun.sleep(5);
}

/** Creates users, and applications with subscriptions. Returns the ids of the subscriptions by broadcaster. */
async function setUp(
  server: ServerProcess,
  receiverUrl: string,
  subscribers: readonly (readonly number[])[],
  webhook_concurrency: number | null,
): Promise<Map<number, string[]>> {
  await server.load("users", users);
  const ids = new Map<number, string[]>(broadcasters.map((id) => [id, []]));
  for (const [index, wanted] of subscribers.entries()) {
    const webhook_url = `${receiverUrl}/${index}`;
    const webhook = { webhook_url, ...(webhook_concurrency && { webhook_concurrency }) };
    const { subscriptions } = await subscriber(server, { ...webhook, event, broadcasters: wanted });
    for (const [i, id] of subscriptions.entries()) ids.get(wanted[i] ?? 0)?.push(id);
  }
  return ids;
}

interface Running {
  /** The server to publish to next; null when none runs. */
  readonly server: ServerProcess | null;
}

interface Publishing {
  readonly random: () => number;
  readonly pauseMs: number;
  /** Whether to pause, for the number of acknowledged events. */
  readonly isTooFar: (acknowledged: number) => boolean;
}

/**
 * Publishes continuously, one publisher many events at a time, and repeats each event until it is acknowledged. Pauses
 * while `isTooFar` returns true for the number of acknowledged events.
 */
function publishers(running: Running, { random, pauseMs, isTooFar }: Publishing) {
  const acknowledged = new Map<string, number>();
  let stopping = false;
  const until202 = async (body: object | string): Promise<void> => {
    for (;;) {
      const current = running.server;
      // A server that does not answer may be cut off from its database.
      const late = Bun.sleep(longestWaitMs).then(() => null);
      const answer =
        current &&
        (await Promise.race([late, current.admin("POST", "/admin/v1/events", body).catch(() => null)]));
      const report = answer?.status === 202 && (await answer.json().catch(() => null));
      if (report && !(report as { rejected?: number }).rejected) return;
      await Bun.sleep(5);
    }
  };
  const publisher = async (name: number) => {
    for (let n = 0; !stopping; n++) {
      while (isTooFar(acknowledged.size) && !stopping) await Bun.sleep(5);
      const size = name === 0 ? batchSize : 1;
      const events = Array.from({ length: size }, (_, i) => {
        const broadcaster = broadcasters[Math.floor(random() * broadcasters.length)] ?? broadcasters[0];
        return { ...sample(event), id: `${name}.${n}.${i}`, broadcaster_user_id: broadcaster };
      });
      await until202(size === 1 ? (events[0] ?? {}) : ndjson(events));
      for (const { id, broadcaster_user_id } of events) acknowledged.set(id, broadcaster_user_id);
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  };
  const all = Array.from({ length: publisherCount }, (_, name) => publisher(name));
  return {
    acknowledged,
    async stop() {
      stopping = true;
      await Promise.all(all);
    },
  };
}
