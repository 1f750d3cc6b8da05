import { Database } from "bun:sqlite";
import { join } from "node:path";
import { SQL } from "bun";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { DeliveryLedger } from "./delivery-ledger.ts";
import { client, type RunOptions, type ServerProcess, serve, subscriber } from "./process.ts";
import { users } from "./real-data.ts";
import { ndjson } from "./rows.ts";
import { temporaryDirectory } from "./server.ts";

export const event = "channel.followed";
const data = builtInEventTypes.find(({ name }) => name === event)?.example;

/** Who is subscribed to whom: one application each. */
const subscribers = [[1001], [1001, 1002], [1001, 1002, 1003]] as const;
export const broadcasters = [1001, 1002, 1003] as const;

const publisherCount = 12;
const batchSize = 20;
/** A kill comes so many milliseconds after the server was ready, at most. */
const longestLifeMs = 400;
const longestDrainMs = 60_000;
/** A publisher publishes again after that. */
const longestWaitMs = 2_000;

interface KillRunOptions {
  readonly kills: number;
  /** From 0 to below 1, for every choice that is made. */
  readonly random: () => number;
  /** Part of the deliveries whose first attempt is answered with 500; they come again after 5 s. */
  readonly failing?: number;
  /** The URL of an empty PostgreSQL database to run on instead of a data directory. */
  readonly database?: string;
  /** How the server is ended; `SIGTERM` is what a service manager sends for a restart. */
  readonly signal?: "SIGKILL" | "SIGTERM";
  /** What is done instead of ending the server. */
  readonly disturb?: () => Promise<void>;
  readonly run?: RunOptions;
  readonly progress?: (kills: number, acknowledged: number, arrived: number) => void;
}

interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly deliveries: number;
  /** More than deliveries, because what was not recorded is sent again. */
  readonly requests: number;
  /** Every broken promise, in words; none is as it should be. */
  readonly problems: readonly string[];
}

/**
 * Ends a server at random moments, a killed one also while it starts, under the load of publishers that publish again what was not
 * acknowledged, as the platform would; then lets it deliver the rest and compares what has arrived with the promises.
 */
export async function killRun(options: KillRunOptions): Promise<KillReport> {
  const { kills, random, failing = 0, database, progress, signal = "SIGKILL" } = options;
  const directory = temporaryDirectory();
  const ledger = new DeliveryLedger({ random, failing });
  const args = ["--allow-private-webhooks", "--rate-limit", "0"];
  if (database === undefined) args.push("--data", directory.path);
  const run = { ...options.run, env: { ...options.run?.env, ...(database && { ONAIR_DATABASE: database }) } };
  const running: { server: ServerProcess | null } = { server: null };
  const endWithThis = () => void running.server?.end("SIGKILL");
  process.on("exit", endWithThis);
  try {
    running.server = await serve(args, run);
    const subscriptions = await setUp(running.server, ledger.url);
    const publishing = publishers(running, random);
    for (let killed = 0; killed < kills; killed++) {
      await Bun.sleep(random() * longestLifeMs);
      if (options.disturb) await options.disturb();
      else {
        const code = await running.server.end(signal);
        running.server = null;
        if (signal === "SIGTERM" && code !== 0) throw new Error(`the server ended with ${code}`);
        if (signal === "SIGKILL" && random() < 0.2) await killWhileStarting(args, run, random);
        running.server = await serve(args, run);
      }
      progress?.(killed + 1, publishing.acknowledged.size, ledger.requests);
    }
    await publishing.stop();
    const problems = database
      ? await drainedPostgres(database)
      : await drainedFile(join(directory.path, "onair.db"));
    problems.push(...ledger.problems());
    for (const [id, broadcaster] of publishing.acknowledged) {
      for (const subscription of subscriptions.get(broadcaster) ?? []) {
        if (!ledger.delivered(id, subscription)) problems.push(`${id} never reached ${subscription}`);
      }
    }
    const code = await running.server.end("SIGTERM");
    if (code !== 0) problems.push(`the server ended with ${code}`);
    const acknowledged = publishing.acknowledged.size;
    return { kills, acknowledged, deliveries: ledger.deliveries, requests: ledger.requests, problems };
  } finally {
    process.off("exit", endWithThis);
    await running.server?.end("SIGKILL");
    await ledger.stop();
    directory.remove();
  }
}

interface Running {
  /** The one to publish at next; null: none runs. */
  readonly server: ServerProcess | null;
}

/** Starts a server that is killed before it is ready, or just then. */
async function killWhileStarting(
  args: readonly string[],
  run: RunOptions,
  random: () => number,
): Promise<void> {
  const started = await serve(args, { ...run, killAfterMs: random() * longestLifeMs }).catch(() => null);
  await started?.end("SIGKILL");
}

/** Users, and the applications with their subscriptions: gives the ids of these by broadcaster. */
async function setUp(server: ServerProcess, receiverUrl: string): Promise<Map<number, string[]>> {
  const rows = ndjson(users);
  await client(server).admin("POST", "/admin/v1/users/batch", rows);
  const ids = new Map<number, string[]>(broadcasters.map((id) => [id, []]));
  for (const [index, wanted] of subscribers.entries()) {
    const webhook_url = `${receiverUrl}/${index}`;
    const { subscriptions } = await subscriber(server, { webhook_url, event, broadcasters: wanted });
    for (const [i, id] of subscriptions.entries()) ids.get(wanted[i] ?? 0)?.push(id);
  }
  return ids;
}

/**
 * Publish without pause, one of them many events at a time, and each event until it is acknowledged. While `isTooFar` by
 * what is acknowledged, no further ones.
 */
export function publishers(
  running: Running,
  random: () => number,
  isTooFar: (acknowledged: number) => boolean = () => false,
) {
  const acknowledged = new Map<string, number>();
  let stopping = false;
  const until202 = async (body: object | string): Promise<void> => {
    for (;;) {
      const current = running.server;
      // One that does not answer may be cut off from its database.
      const late = Bun.sleep(longestWaitMs).then(() => null);
      const answer =
        current &&
        (await Promise.race([
          late,
          client(current)
            .admin("POST", "/admin/v1/events", body)
            .catch(() => null),
        ]));
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
        return { id: `${name}.${n}.${i}`, name: event, version: 1, broadcaster_user_id: broadcaster, data };
      });
      await until202(size === 1 ? (events[0] ?? {}) : ndjson(events));
      for (const { id, broadcaster_user_id } of events) acknowledged.set(id, broadcaster_user_id);
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

export async function drainedPostgres(url: string): Promise<string[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    return await drained(() => sql.unsafe(statusCounts));
  } finally {
    await sql.close();
  }
}
