import { DeliveryLedger } from "./delivery-ledger.ts";
import { broadcasters, drainedPostgres, event, publishers } from "./kill-run.ts";
import { client, type RunOptions, type ServerProcess, serve, subscriber } from "./process.ts";
import { users } from "./real-data.ts";
import { ndjson } from "./rows.ts";

const args = ["--allow-private-webhooks", "--rate-limit", "0"];
/** So many that each replica owns some of them. */
const applications = 12;

export interface ReplicaRunOptions {
  /** Of the database that all share, to look into it. */
  readonly database: string;
  /** How each replica is started; by default on that database. */
  readonly replicas: readonly RunOptions[];
  /** So many deliveries may be pending, or it is not published on. */
  readonly backlog?: number;
  /** What is done to the replicas while they are published to and deliver. */
  readonly faults: (replicas: readonly TestReplica[], run: ReplicaRun) => Promise<void>;
}

export interface ReplicaRun {
  /** Resolves when, after this call, something has arrived for every application. */
  allServed(): Promise<void>;
}

/** A replica of a run. */
export interface TestReplica {
  readonly server: ServerProcess;
  /** Ends it by a signal; it is published to no more. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  readonly isRunning: boolean;
  /** Starts it again, or another executable in its place. */
  start(command?: readonly string[]): Promise<void>;
  /** Whether it is published to, as by a load balancer that has not noticed yet that it does not answer. */
  isPublishedTo: boolean;
}

export interface ReplicaReport {
  readonly acknowledged: number;
  readonly requests: number;
  readonly deliveries: number;
  /** Every broken promise, in words; none is as it should be. */
  readonly problems: readonly string[];
}

/**
 * Publishes to replicas of one server while faults happen to them; then lets them deliver the rest and compares what has
 * arrived with the promises. Each endpoint has one attempt at a time, so that what starts in order arrives in order.
 */
export async function replicaRun({
  database,
  replicas,
  backlog = 1_000,
  faults,
}: ReplicaRunOptions): Promise<ReplicaReport> {
  const ledger = new DeliveryLedger({ random: () => 1, failing: 0 });
  const slots = replicas.map((run) => replicaOn({ ...run, env: { ONAIR_DATABASE: database, ...run.env } }));
  try {
    await Promise.all(slots.map((slot) => slot.start()));
    const first = slots[0]?.server;
    if (!first) throw new Error("a run has at least one replica");
    const subscriptions = await setUp(first, ledger.url);
    let next = 0;
    const running = {
      get server() {
        const alive = slots.filter((slot) => slot.isRunning && slot.isPublishedTo);
        return alive[next++ % alive.length]?.server ?? null;
      },
    };
    const perEvent = applications / broadcasters.length;
    const publishing = publishers(
      running,
      Math.random,
      (acknowledged) => acknowledged * perEvent - ledger.deliveries > backlog,
    );
    const run: ReplicaRun = { allServed: () => allServed(ledger, subscriptions) };
    await run.allServed();
    await faults(slots, run);
    await publishing.stop();
    const problems = [...(await drainedPostgres(database)), ...ledger.problems(), ...ledger.overtaken];
    for (const [id] of publishing.acknowledged) {
      const broadcaster = publishing.acknowledged.get(id) ?? 0;
      for (const subscription of subscriptions.get(broadcaster) ?? []) {
        if (!ledger.delivered(id, subscription)) problems.push(`${id} never reached ${subscription}`);
      }
    }
    const { requests, deliveries } = ledger;
    return { acknowledged: publishing.acknowledged.size, requests, deliveries, problems };
  } finally {
    await Promise.all(slots.map((slot) => slot.isRunning && slot.end("SIGKILL")));
    await ledger.stop();
  }
}

function replicaOn(run: RunOptions) {
  let server: ServerProcess | null = null;
  let isRunning = false;
  const endWithThis = () => void server?.end("SIGKILL");
  return {
    isPublishedTo: true,
    get isRunning() {
      return isRunning;
    },
    get server() {
      if (!server) throw new Error("the replica was never started");
      return server;
    },
    async start(command?: readonly string[]) {
      server = await serve(args, { ...run, ...(command && { command }) });
      isRunning = true;
      process.once("exit", endWithThis);
    },
    async end(signal: "SIGKILL" | "SIGTERM") {
      isRunning = false;
      process.off("exit", endWithThis);
      await server?.end(signal);
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

/** Users, and the applications with their subscriptions: gives the ids of these by broadcaster. */
async function setUp(server: ServerProcess, receiverUrl: string): Promise<Map<number, string[]>> {
  const rows = ndjson(users);
  await client(server).admin("POST", "/admin/v1/users/batch", rows);
  const ids = new Map<number, string[]>(broadcasters.map((id) => [id, []]));
  for (let i = 0; i < applications; i++) {
    const wanted = [broadcasters[i % broadcasters.length] ?? 0];
    const webhook = { webhook_url: `${receiverUrl}/${i}`, webhook_concurrency: 1 };
    const { subscriptions } = await subscriber(server, { ...webhook, event, broadcasters: wanted });
    for (const [n, id] of subscriptions.entries()) ids.get(wanted[n] ?? 0)?.push(id);
  }
  return ids;
}
