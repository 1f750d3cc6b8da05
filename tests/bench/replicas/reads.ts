import { join } from "node:path";
import { SQL } from "bun";
import { seeded } from "../../../src/dev/chance.ts";
import { secretHash } from "../../../src/domain/tokens.ts";
import { distinctRanks } from "../../support/ranks.ts";
import type { Bench, Outcome } from "../support/bench.ts";
import { availableFrameworks, startFastifyOnPostgres } from "../support/frameworks.ts";
import { load, newToken, rateLimit, startOnAir } from "../support/onair.ts";
import { sampleUsers, usernameOf, usersPath } from "../support/platform.ts";
import { BenchError, cpuSecondsOfFamily, type Server, serverCore } from "../support/processes.ts";
import { atLeast, microseconds, milliseconds, table, whole } from "../support/report.ts";
import { medians } from "../support/rounds.ts";
import { prepareLoad, type Traffic } from "../support/wrk.ts";
import { type Database, startDatabase } from "./database.ts";

const goal = 2;
const users = 50_000;
const warmUpSeconds = 10;

interface Round {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Processor time of a request, in microseconds. */
  readonly serverMicroseconds: number;
  readonly databaseMicroseconds: number;
}

interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly token: string;
  readonly database: Database | null;
}

/** Get User of users that are drawn uniformly. */
export function getUsers(users: number, token: string): Traffic {
  // None is asked for again before all others were, so that every read is a miss of any cache.
  const order = distinctRanks(users, users, seeded(6));
  const paths = Array.from({ length: users }, (_, rank) => usersPath + usernameOf(rank));
  return { paths, order, headers: { Authorization: `Bearer ${token}` } };
}

/**
 * Get User on SQLite, on PostgreSQL, and on Fastify with pg and the same rows, in turn. The server and its database
 * share one core, so that requests per second are those of the processor time of both.
 */
export async function measureReads(
  bench: Bench,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Outcome> {
  if ((await availableFrameworks(bench.say)).length === 0) throw new BenchError("Reads need Fastify");
  const database = await startDatabase(String(serverCore));
  const contenders = await Promise.all(
    (await startAll(bench, database)).map(async (contender, i) => {
      const load = await prepareLoad(join(bench.directory, `reads-${i}`), getUsers(users, contender.token));
      return { ...contender, load, rounds: [] as Round[] };
    }),
  );
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const { server, database, load, rounds: own } of contenders) {
        const before = database ? cpuSecondsOfFamily(database.pid) : 0;
        const run = await load(server, round === 0 ? warmUpSeconds : seconds);
        const databaseSeconds = database ? cpuSecondsOfFamily(database.pid) - before : 0;
        if (round === 0) continue;
        own.push({
          perSecond: run.requestsPerSecond,
          p99Ms: run.p99Ms,
          serverMicroseconds: run.cpuMicroseconds,
          databaseMicroseconds: (databaseSeconds / run.requests) * 1e6,
        });
      }
    }
  } finally {
    for (const { server } of contenders) await server.stop();
    await database.stop();
  }
  const measured = contenders.map(({ name, rounds }) => ({ name, rounds, ...medians(rounds) }));
  const [onPostgres, fastify] = measured
    .slice(1)
    .map((one) => one.serverMicroseconds + one.databaseMicroseconds);
  return {
    shown: table([
      ["Get User uniformly", "requests/s", "p99", "CPU of the server", "of the database"],
      ...measured.map((one) => [
        one.name,
        whole(one.perSecond),
        milliseconds(one.p99Ms),
        microseconds(one.serverMicroseconds),
        microseconds(one.databaseMicroseconds),
      ]),
    ]),
    figures: Object.fromEntries(measured.map(({ name, rounds }) => [name, rounds])),
    goals: [
      atLeast(
        "times the requests of Fastify with pg for the same processor time",
        (fastify ?? Number.NaN) / (onPostgres ?? Number.NaN),
        goal,
      ),
    ],
  };
}

async function startAll(bench: Bench, database: Database): Promise<Contender[]> {
  const sqlite = await startOnAir(bench, { data: join(bench.directory, "reads") });
  const postgres = await startOnAir(bench, { database: database.url });
  for (const server of [sqlite, postgres]) await load(server, "users", sampleUsers(users));
  const token = await newToken(postgres);
  await copyForFastify(database.url, token);
  const fastify = await startFastifyOnPostgres(database.url);
  const contenders: Contender[] = [
    { name: "SQLite", server: sqlite, token: await newToken(sqlite), database: null },
    { name: "PostgreSQL", server: postgres, token, database },
    { name: "Fastify with pg", server: fastify, token, database },
  ];
  await requireSameAnswer(contenders);
  return contenders;
}

/** The same users and token in tables as the users of Fastify make them. */
async function copyForFastify(url: string, token: string): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  await sql.unsafe(`
    CREATE SCHEMA fastify;
    CREATE TABLE fastify.users AS SELECT id, username, display_name, bio, profile_picture, followers_count,
      following_count, is_verified, created_at FROM public.users;
    ALTER TABLE fastify.users ADD PRIMARY KEY (id);
    CREATE UNIQUE INDEX ON fastify.users (lower(username));
    CREATE TABLE fastify.applications (id text PRIMARY KEY, rate_limit integer NOT NULL);
    CREATE TABLE fastify.tokens (hash bytea PRIMARY KEY, application_id text NOT NULL REFERENCES fastify.applications,
      scopes text NOT NULL, expires_at bigint NOT NULL);
    INSERT INTO fastify.applications VALUES ('benchmark', ${rateLimit})`);
  await sql`INSERT INTO fastify.tokens VALUES (${secretHash(token)}, 'benchmark', '["users:read"]', ${Date.now() + 86_400_000})`;
  await sql.unsafe("VACUUM ANALYZE");
  await sql.close();
}

async function requireSameAnswer(contenders: readonly Contender[]): Promise<void> {
  const answers = await Promise.all(
    contenders.map(async ({ server, token }) => {
      const answer = await fetch(`${server.url}${usersPath}${usernameOf(7)}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return (await answer.text()).replace(/https?:[^"]*\/assets\//, "/assets/");
    }),
  );
  const different = answers.findIndex((answer) => answer !== answers[0]);
  if (different >= 0) {
    throw new BenchError(
      `Another answer: ${contenders[different]?.name}\n${answers[0]}\n${answers[different]}`,
    );
  }
}
