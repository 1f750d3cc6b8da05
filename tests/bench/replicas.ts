/*
 * On Air on PostgreSQL beside On Air on SQLite: bun tests/bench/replicas.ts --help
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { channelFollowed } from "../../src/domain/events/channel-followed.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { Publishers, requireAllOnce } from "./delivery/platform.ts";
import { measureSeveral, severalGoals, severalTable } from "./replicas/several.ts";
import {
  builtExecutable,
  load,
  newToken,
  type OnAir,
  startOnAir,
  startOnPostgres,
  subscribe,
} from "./support/onair.ts";
import { sampleUsers } from "./support/platform.ts";
import {
  BenchError,
  benchDirectory,
  cpuSeconds,
  loadCore,
  otherWork,
  pinThisProcess,
  requireMachine,
  serverCore,
} from "./support/processes.ts";
import { newEventId, Receiver } from "./support/receiver.ts";
import { milliseconds, table, whole } from "./support/report.ts";
import { median, percentile } from "./support/rounds.ts";

const help = `Usage: bun tests/bench/replicas.ts [options]

  --events N         events of a round (default: 20,000)
  --publishers N     publishers, each of which sends its next event when the last is acknowledged (default: 64)
  --rounds N         rounds of each store, after one of warming up (default: 3)
  --seconds N        how long two replicas are published to (default: 20)
  --kills N          how often one of them is killed (default: 3)
  --only PART        stores: the two stores, or replicas: two replicas
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when a goal is not met

Events of 700 bytes are published one by one and delivered to one endpoint. On Air and a PostgreSQL of its own, whose
commits are synced, run on all cores, and so do the publishers and the receiver, which take the second one. Processor
time is On Air's and the database's together. Then 200 events a second are published to two replicas in turn, for endpoints
of which each owns some; and one of them is killed.
`;

const goal = { perSecond: 3_000, cpuSecondsPer1000: 0.6 };
const broadcaster = 1_001;
const args = ["--allow-private-webhooks"];
const cpus = `${serverCore},${loadCore}`;

interface Round {
  readonly perSecond: number;
  /** Publishing to its acknowledgement, in milliseconds. */
  readonly acknowledgedP50Ms: number;
  readonly acknowledgedP99Ms: number;
  /** Processor time of 1,000 events, in seconds. */
  readonly onAirSeconds: number;
  readonly databaseSeconds: number;
}

interface Store {
  readonly name: string;
  readonly onAir: OnAir;
  /** Processor time that the database has used beside On Air, in seconds. */
  databaseSeconds(): number;
  stop(): Promise<void>;
}

async function onSqlite(executable: string, directory: string): Promise<Store> {
  const onAir = await startOnAir(executable, join(directory, "data"), directory, { args, cpus });
  return { name: "SQLite", onAir, databaseSeconds: () => 0, stop: () => onAir.stop() };
}

async function onPostgres(executable: string, directory: string): Promise<Store> {
  const server = await startPostgres(["fsync=on", "shared_buffers=256MB"]);
  const sql = new SQL(server.url("postgres"), { max: 1 });
  await sql.unsafe("CREATE DATABASE onair");
  const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
  const main = parentOf((row as { pid: number }).pid);
  await sql.close();
  const onAir = await startOnPostgres(executable, server.url("onair"), directory, { args, cpus });
  return {
    name: "PostgreSQL",
    onAir,
    databaseSeconds: () => cpuOfFamily(main),
    stop: () => stopBoth(onAir, server),
  };
}

async function stopBoth(onAir: OnAir, server: PostgresServer): Promise<void> {
  await onAir.stop();
  await server.stop();
}

const statOf = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
const parentOf = (pid: number) => Number(statOf(pid)[1]);

/** Processor time of a process and its children, those that have ended included, in seconds. */
function cpuOfFamily(main: number): number {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return parentOf(pid) === main;
      } catch {
        return false; // it has ended
      }
    });
  const [, , , , , , , , , , , , , ended = "0", endedSystem = "0"] = statOf(main);
  const own = [main, ...children].reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  return own + (Number(ended) + Number(endedSystem)) / 100;
}

/** Publishes so many events, waits until all have arrived, and checks that each did once. */
async function roundOf(
  store: Store,
  receiver: Receiver,
  { events, publishers: count }: { events: number; publishers: number },
): Promise<Round> {
  const publishers = new Publishers(store.onAir);
  await receiver.report();
  const before = { onAir: cpuSeconds(store.onAir.pid), database: store.databaseSeconds() };
  const startedAt = performance.now();
  const acknowledged: number[] = [];
  let left = events;
  const publish = async () => {
    while (left-- > 0) acknowledged.push(await publishers.publish(broadcaster, newEventId()));
  };
  await Promise.all(Array.from({ length: count }, publish));
  await receiver.waitFor(events, 60);
  const seconds = (performance.now() - startedAt) / 1000;
  await requireAllOnce(receiver, events);
  const thousands = events / 1000;
  publishers.wire.close();
  return {
    perSecond: events / seconds,
    acknowledgedP50Ms: percentile(acknowledged, 0.5),
    acknowledgedP99Ms: percentile(acknowledged, 0.99),
    onAirSeconds: (cpuSeconds(store.onAir.pid) - before.onAir) / thousands,
    databaseSeconds: (store.databaseSeconds() - before.database) / thousands,
  };
}

function readOptions() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      events: { ...text, default: "20000" },
      publishers: { ...text, default: "64" },
      rounds: { ...text, default: "3" },
      seconds: { ...text, default: "20" },
      kills: { ...text, default: "3" },
      only: text,
      executable: text,
      json: flag,
      check: flag,
      help: flag,
    },
  });
  const number = (name: "events" | "publishers" | "rounds" | "seconds" | "kills", most: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new BenchError(`--${name} must be an integer from 1 to ${most}`);
  };
  return {
    ...values,
    events: number("events", 1e6),
    publishers: number("publishers", 1_000),
    rounds: number("rounds", 100),
    seconds: number("seconds", 3_600),
    kills: number("kills", 1_000),
  };
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) return void process.stdout.write(help);
  requireMachine({ taskset: "util-linux" });
  pinThisProcess();
  const executable = options.executable === undefined ? await builtExecutable() : resolve(options.executable);
  const directory = benchDirectory();
  const others = otherWork();
  const several =
    options.only === "stores" ? null : await measureSeveral({ executable, directory, cpus, ...options });
  const measured =
    options.only === "replicas" ? new Map() : await measureStores(executable, directory, options);
  report(measured, several, others(), options);
}

async function measureStores(
  executable: string,
  directory: string,
  options: ReturnType<typeof readOptions>,
): Promise<Map<string, Round[]>> {
  const stores = [await onSqlite(executable, directory), await onPostgres(executable, directory)];
  const receiver = await Receiver.start(0);
  const measured = new Map<string, Round[]>();
  for (const { onAir } of stores) {
    await load(onAir, "users", sampleUsers(10));
    const token = await newToken(onAir, { webhook_url: `${receiver.server.url}/hook` });
    await subscribe(onAir, token, channelFollowed.name, broadcaster);
  }
  for (let round = 0; round <= options.rounds; round++) {
    for (const store of stores) {
      const figures = await roundOf(store, receiver, options);
      if (round > 0) measured.set(store.name, [...(measured.get(store.name) ?? []), figures]);
    }
  }
  for (const store of stores) await store.stop();
  await receiver.server.stop("SIGKILL");
  return measured;
}

function report(
  measured: ReadonlyMap<string, readonly Round[]>,
  several: Awaited<ReturnType<typeof measureSeveral>> | null,
  others: number,
  { json, check }: { json: boolean; check: boolean },
): void {
  const of = (rounds: readonly Round[], figure: keyof Round) => median(rounds.map((one) => one[figure]));
  const rows = [...measured].map(([name, rounds]) => {
    const [onAir, database] = [of(rounds, "onAirSeconds"), of(rounds, "databaseSeconds")];
    return [
      name,
      whole(of(rounds, "perSecond")),
      milliseconds(of(rounds, "acknowledgedP50Ms")),
      milliseconds(of(rounds, "acknowledgedP99Ms")),
      `${(onAir + database).toFixed(2)} s`,
      `${database.toFixed(2)} s`,
    ];
  });
  const goals = [...storeGoals(measured, of), ...(several ? severalGoals(several) : [])];
  if (json) {
    process.stdout.write(
      `${JSON.stringify({ goals, others, several, rounds: Object.fromEntries(measured) })}\n`,
    );
  } else {
    const head = ["", "events/s", "acknowledged p50", "p99", "CPU of 1,000", "of it the database"];
    const verdicts = goals.map(({ text, met }) => `${met ? "met" : "NOT met"}: ${text}`);
    const disturbed =
      others > 0.03 ? [`Disturbed: other processes took ${whole(others * 100)} % of the machine`] : [];
    const tables = [
      rows.length > 0 ? table([head, ...rows]) : [],
      several ? severalTable(several) : [],
    ].flat();
    process.stdout.write(`${[...tables, ...verdicts, ...disturbed].join("\n")}\n`);
  }
  if (check && goals.some(({ met }) => !met)) process.exitCode = 1;
}

function storeGoals(
  measured: ReadonlyMap<string, readonly Round[]>,
  of: (rounds: readonly Round[], figure: keyof Round) => number,
) {
  const postgres = measured.get("PostgreSQL");
  if (!postgres) return [];
  const perSecond = of(postgres, "perSecond");
  const cpu = of(postgres, "onAirSeconds") + of(postgres, "databaseSeconds");
  return [
    {
      text: `${whole(perSecond)}/s on PostgreSQL, goal ${whole(goal.perSecond)}/s`,
      met: perSecond >= goal.perSecond,
    },
    {
      text: `${cpu.toFixed(2)} s of CPU for 1,000, goal ${goal.cpuSecondsPer1000} s`,
      met: cpu <= goal.cpuSecondsPer1000,
    },
  ];
}

try {
  await main();
} catch (error) {
  const expected = error instanceof BenchError || (error instanceof TypeError && "code" in error);
  process.stderr.write(`${expected ? error.message : Bun.inspect(error)}\n`);
  process.exitCode = 1;
}
process.exit();
