import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import type { Store } from "../../src/domain/store.ts";
import { fold } from "../../src/domain/text.ts";
import { type NewUser, type UserInput, userFrom } from "../../src/domain/users.ts";
import { applyBatch } from "../../src/platform/batches.ts";
import { platformData } from "../../src/platform/platform-data.ts";
import { Ranking } from "../../src/platform/ranking.ts";
import { openPostgresStore } from "../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../src/store/location.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { userSearch } from "../../src/store/sqlite/search.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";
import { copyOfData, filledPlatform, sampleUsers, usernameOf } from "./support/platform.ts";
import { BenchError } from "./support/processes.ts";
import { below, median, megabytes, percent, percentile, table, whole } from "./support/report.ts";

/*
 * The time of a search among a million users, its results compared with those of a plain search, and the cost of the
 * index while users are imported: bun tests/bench/search.ts --help
 */

const insertedAtOnce = 5_000;
export const now = "2026-01-14T16:00:00Z";

/** The users that are searched. */
export function* users(count: number): Generator<NewUser> {
  for (const user of sampleUsers(count)) yield userFrom(user as UserInput);
}

export function* groups<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let group: T[] = [];
  for (const item of items) {
    if (group.push(item) < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** A store with what the benchmark asks of its database. */
export interface Opened {
  readonly store: Store;
  databaseBytes(): Promise<number>;
  close(): Promise<void>;
}

export async function onSqlite({ directory, say }: Bench, users: number): Promise<Opened> {
  const data = join(directory, "data");
  await copyOfData(await filledPlatform(users, say), data);
  const store = openStore(data);
  const databaseBytes = async () => statSync(join(data, "onair.db")).size;
  return { store, databaseBytes, close: () => store.close() };
}

/** The server is configured for a small machine, and ends with this. */
export async function onPostgres(count: number): Promise<Opened> {
  const server = await startPostgres(["shared_buffers=512MB"]);
  const url = server.url("postgres");
  const store = await openPostgresStore(readDatabaseUrl(url), { connections: 4 });
  for (const group of groups(users(count), insertedAtOnce)) await store.users.upsert(group, now);
  await store.users.tidySearch();
  return {
    store,
    async databaseBytes() {
      const sql = new SQL(url, { max: 1 });
      const [row] = await sql`SELECT pg_database_size(current_database())::float8 AS bytes`;
      await sql.close();
      return row.bytes;
    },
    async close() {
      await store.close();
      await server.stop();
    },
  };
}

const about = `
queries   25 queries in turn, each with limits of 25 and 100. With up to two million users every answer is compared with
          that of a slow search. Goals use "quiet", the p99 of the quietest of five parts of the rounds, because on a busy
          machine p99 and max depend on the scheduler.
import    The processor time that the index takes while 100,000 users are imported. Not on PostgreSQL.
`;

/** The slow search holds all users in memory. */
const mostSlow = 2_000_000;
const importedUsers = 100_000;
const groupSizes = [200, insertedAtOnce];
const goal = { p99Ms: 2, postgresP99Ms: 10, indexShare: 0.5 } as const;
const limits = [25, 100] as const;

/** The set of queries: what they are, and a function of the number of users that makes one. */
const queries: readonly [string, (users: number) => string][] = [
  ["a seventh of all", () => "en_"],
  ["a fourteenth, never first", () => "ent"],
  ["word at the beginning", () => "golden"],
  ["word in the middle", () => "wizard"],
  ["two words", () => "golden_wolf"],
  ["across two words", () => "lden_po"],
  ["rare", (users) => usernameOf(users - 7).slice(-6)],
  ["digits", () => "123"],
  ["exact name", (users) => usernameOf(Math.floor(users / 3))],
  ["exact name, popular", () => usernameOf(5)],
  ["prefix", (users) => usernameOf(Math.floor(users / 2)).slice(0, -2)],
  ["prefix of one", (users) => usernameOf(users - 5).slice(0, -1)],
  ["Korean", () => "한국방"],
  ["Korean and a digit", () => "방송 1"],
  ["Chinese", () => "小魚直播"],
  ["Japanese", () => "ゲーム"],
  ["Cyrillic", () => "стример"],
  ["accents", () => "José"],
  ["accents in the query", () => "múśica 9"],
  ["nonsense", () => "zzzqqq"],
  ["nonsense of common parts", () => "entpanwol"],
  ["words in the wrong order", () => "wolf_golden"],
  ["100 characters", () => "golden_wizard".repeat(8).slice(0, 100)],
  ["100 times the same", () => "a".repeat(100)],
  ["7 times the same, which has one trigram", () => "0000000"],
];

interface Slow {
  readonly matches: number;
  /** The first 100 ids in the contract's order. */
  readonly ids: readonly number[];
}

/** The results of a slow but obviously correct search. */
function searchSlowly(count: number, texts: readonly string[]): Slow[] {
  const found = texts.map(() => [] as { id: number; rank: number; followers: number }[]);
  const folded = texts.map(fold);
  for (const user of users(count)) {
    const names = [fold(user.username), fold(user.display_name)] as const;
    for (const [i, text] of folded.entries()) {
      if (!names.some((name) => name.includes(text))) continue;
      const rank = names[0] === text ? 0 : names[0].startsWith(text) ? 1 : 2;
      found[i]?.push({ id: user.id, rank, followers: user.followers_count });
    }
  }
  return found.map((matches) => {
    matches.sort((a, b) => a.rank - b.rank || b.followers - a.followers || a.id - b.id);
    return { matches: matches.length, ids: matches.slice(0, Math.max(...limits)).map(({ id }) => id) };
  });
}

interface Asked {
  readonly kind: string;
  readonly query: string;
  readonly limit: number;
  /** The number of matching users; null if not counted. */
  readonly matches: number | null;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** p99 of the quietest part of the rounds. */
  readonly quiet: number;
}

const parts = 5;

/** Processor time of this thread so far, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function measure(store: Store, count: number, rounds: number, slow: boolean): Promise<Asked[]> {
  const asked = queries.map(([kind, make]) => ({ kind, query: make(count) }));
  const expected = slow
    ? searchSlowly(
        count,
        asked.map(({ query }) => query),
      )
    : [];
  const runs = asked.flatMap((one, i) =>
    limits.map((limit) => ({ ...one, limit, slow: expected[i], took: [] as number[] })),
  );
  // In turn, so that no query has all caches to itself.
  for (let round = -2; round < rounds; round++) {
    for (const { query, limit, slow, took, kind } of runs) {
      const startedAt = performance.now();
      const found = await store.users.search(query, limit);
      if (round >= 0) took.push(performance.now() - startedAt);
      const ids = found.users.map(({ id }) => id).join();
      if (slow && ids !== slow.ids.slice(0, limit).join()) {
        throw new BenchError(
          `"${query}" (${kind}) with limit ${limit} finds something else than a slow search`,
        );
      }
    }
  }
  return runs.map(({ kind, query, limit, slow, took }) => {
    const matches = slow?.matches ?? null;
    const times = { p50: percentile(took, 0.5), p99: percentile(took, 0.99), max: percentile(took, 1) };
    const length = Math.ceil(took.length / parts);
    const quiet = Math.min(...[...groups(took, length)].map((part) => percentile(part, 0.99)));
    return { kind, query, limit, matches, ...times, quiet };
  });
}

interface ImportCost {
  readonly groupSize: number;
  readonly rowsPerSecond: number;
  /** Part of the processor time that goes into the index. */
  readonly indexShare: number;
}

/** Imports users line by line, and then into an index alone; three times, the middle one counts. */
async function measureImport(count: number, groupSize: number, directory: string): Promise<ImportCost> {
  const everybody = [...users(count)];
  const lines = [...groups(sampleUsers(count), 200)].map((rows) =>
    new TextEncoder().encode(rows.map((row) => `${JSON.stringify(row)}\n`).join("")),
  );
  const runs: { took: number; total: number; index: number }[] = [];
  for (let run = 0; run < 3; run++) {
    const store = openStore(join(directory, `import-${groupSize}-${run}`));
    const [startedAt, cpuBefore] = [performance.now(), cpuMs()];
    const { users: intake } = platformData({ store, ranking: new Ranking(Date.now), now: Date.now });
    await applyBatch(chunksOf(lines), intake, groupSize);
    const [took, total] = [performance.now() - startedAt, cpuMs() - cpuBefore];
    await store.close();
    const index = indexAlone(everybody, groupSize, join(directory, `${groupSize}-${run}.db`));
    runs.push({ took, total, index });
  }
  return {
    groupSize,
    rowsPerSecond: count / (median(runs.map(({ took }) => took)) / 1000),
    indexShare: median(runs.map(({ total, index }) => index / total)),
  };
}

async function* chunksOf(lines: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* lines;
}

function indexAlone(everybody: readonly NewUser[], groupSize: number, file: string): number {
  const db = new Database(file, { create: true, strict: true });
  for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "cache_size = -65536"]) {
    db.run(`PRAGMA ${pragma}`);
  }
  migrate(db);
  const { update } = userSearch(db);
  const write = db.transaction((group: readonly NewUser[]) => {
    update(group.map((user) => ({ before: null, after: { ...user, created_at: now } })));
  });
  const before = cpuMs();
  for (const group of groups(everybody, groupSize)) write(group);
  const spent = cpuMs() - before;
  db.close();
  return spent;
}

/** All queries against a store of so many users, which is closed afterwards. */
async function queriesOf(
  { store, databaseBytes, close }: Opened,
  users: number,
  rounds: number,
  mostP99Ms: number,
): Promise<Outcome> {
  const asked = await measure(store, users, rounds, users <= mostSlow);
  const bytes = await databaseBytes();
  await close();
  const ms = (value: number) => `${value.toFixed(3)} ms`;
  const rows = asked.map(({ kind, query, limit, matches, p50, p99, max, quiet }) => [
    kind,
    query.length > 20 ? `${query.slice(0, 19)}…` : query,
    `${limit}`,
    matches === null ? "" : whole(matches),
    ...[p50, p99, max, quiet].map(ms),
  ]);
  const head = [`${whole(users)} users`, "query", "limit", "matches", "p50", "p99", "max", "quiet"];
  const slowest = Math.max(...asked.map(({ quiet }) => quiet));
  return {
    shown: `${table([head, ...rows])}\n\nThe database takes ${megabytes(bytes)}`,
    figures: { databaseBytes: bytes, asked },
    goals: [below("quiet p99 of each query", slowest, mostP99Ms, { as: ms })],
  };
}

async function importOf(directory: string): Promise<Outcome> {
  const measured: ImportCost[] = [];
  for (const size of groupSizes) measured.push(await measureImport(importedUsers, size, directory));
  return {
    shown: table([
      [`Import of ${whole(importedUsers)} users`, "users/s", "of it the index"],
      ...measured.map(({ groupSize, rowsPerSecond, indexShare }) => [
        `in groups of ${groupSize}`,
        whole(rowsPerSecond),
        percent(indexShare),
      ]),
    ]),
    figures: { measured },
    goals: [
      below(
        "of the time into the index",
        Math.max(...measured.map((one) => one.indexShare)),
        goal.indexShare,
        {
          as: percent,
        },
      ),
    ],
  };
}

await benchmark(
  {
    about,
    options: {
      users: { default: 1_000_000, help: "users in the data" },
      postgres: { default: false, help: "on a PostgreSQL of its own instead of a data directory" },
      rounds: { default: 200, help: "times that the whole set is asked" },
    },
    parts: ["queries", "import"],
  },
  async (bench, { users, postgres, rounds }) => {
    if (bench.only.includes("queries")) {
      const opened = postgres ? await onPostgres(users) : await onSqlite(bench, users);
      const most = postgres ? goal.postgresP99Ms : goal.p99Ms;
      await bench.measure("queries", () => queriesOf(opened, users, rounds, most));
    }
    if (bench.only.includes("import") && !postgres)
      await bench.measure("import", () => importOf(bench.directory));
  },
);
