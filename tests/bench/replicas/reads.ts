import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { secretHash } from "../../../src/domain/tokens.ts";
import { startFastifyOnPostgres } from "../support/frameworks.ts";
import { load, newToken, type OnAir, rateLimit, startOnAir, startOnPostgres } from "../support/onair.ts";
import { sampleUsers, usernameOf, usersPath } from "../support/platform.ts";
import { BenchError, type Server, serverCore } from "../support/processes.ts";
import { distinctRanks, seededRandom } from "../support/random.ts";
import { type Goal, table, whole } from "../support/report.ts";
import { median } from "../support/rounds.ts";
import { prepareLoad, type Traffic } from "../support/wrk.ts";
import { type Database, startDatabase } from "./database.ts";
import type { Part, Setting } from "./report.ts";

const goal = 2;

interface ReadsOptions {
  readonly users: number;
  readonly rounds: number;
  readonly "read-seconds": number;
}

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
  const order = distinctRanks(users, users, seededRandom(6));
  const paths = Array.from({ length: users }, (_, rank) => usersPath + usernameOf(rank));
  return { paths, order, headers: { Authorization: `Bearer ${token}` } };
}

/**
 * Get User on SQLite, on PostgreSQL, and on Fastify with pg and the same rows, in turn. The server and its database share
 * one core, so that requests per second are those of the processor time of both.
 */
export async function measureReads(setting: Setting, options: ReadsOptions): Promise<Part> {
  const { users, rounds, "read-seconds": readSeconds } = options;
  const database = await startDatabase(String(serverCore));
  const contenders = await startAll(setting, database, users);
  const loads = await Promise.all(
    contenders.map(({ token }, i) => {
      const directory = join(setting.directory, `reads-${i}`);
      mkdirSync(directory);
      return prepareLoad(directory, getUsers(users, token));
    }),
  );
  const measured = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [i, { name, server, database }] of contenders.entries()) {
        const before = database?.cpuSeconds() ?? 0;
        const run = await loads[i]?.(server, round === 0 ? 10 : readSeconds);
        if (!run || round === 0) continue;
        const databaseSeconds = (database?.cpuSeconds() ?? 0) - before;
        measured.get(name)?.push({
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
  return { table: tableOf(measured), goals: goalsOf(measured), figures: Object.fromEntries(measured) };
}

async function startAll(
  { executable, directory }: Setting,
  database: Database,
  users: number,
): Promise<Contender[]> {
  const cpus = String(serverCore);
  const sqlite = await startOnAir(executable, join(directory, "reads"), directory, { cpus });
  const postgres = await startOnPostgres(executable, database.url, directory, { cpus });
  const filled = async (name: string, server: OnAir, database: Database | null): Promise<Contender> => {
    await load(server, "users", sampleUsers(users));
    return { name, server, token: await newToken(server), database };
  };
  const contenders = [await filled("SQLite", sqlite, null), await filled("PostgreSQL", postgres, database)];
  const token = contenders[1]?.token ?? "";
  await copyForFastify(database.url, token);
  const fastify = await startFastifyOnPostgres(database.url);
  contenders.push({ name: "Fastify with pg", server: fastify, token, database });
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

const of = (rounds: readonly Round[], figure: keyof Round) => median(rounds.map((one) => one[figure]));

function tableOf(measured: ReadonlyMap<string, readonly Round[]>): string {
  const rows = [...measured].map(([name, rounds]) => [
    name,
    whole(of(rounds, "perSecond")),
    `${of(rounds, "p99Ms").toFixed(1)} ms`,
    `${of(rounds, "serverMicroseconds").toFixed(0)} µs`,
    `${of(rounds, "databaseMicroseconds").toFixed(0)} µs`,
  ]);
  return table([
    ["Get User uniformly", "requests/s", "p99", "CPU of the server", "of the database"],
    ...rows,
  ]);
}

function goalsOf(measured: ReadonlyMap<string, readonly Round[]>): Goal[] {
  const cost = (name: string) => {
    const rounds = measured.get(name) ?? [];
    return of(rounds, "serverMicroseconds") + of(rounds, "databaseMicroseconds");
  };
  const times = cost("Fastify with pg") / cost("PostgreSQL");
  const text = `${times.toFixed(2)} times the requests of Fastify with pg for the same processor time, goal ${goal}`;
  return [{ text, met: times >= goal }];
}
