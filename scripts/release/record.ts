/*
 * Keeps what others build on of the version in package.json, in tests/released/MAJOR.MINOR:
 *
 *     bun scripts/release/record.ts
 *
 * OpenAPI documents, commands with their help and exit codes, settings, event types, log events, metrics, migrations,
 * schemas, and a small database of each kind with pending deliveries. The tests in tests/released compare every later
 * version with it. Run it before the tag is set, with PostgreSQL installed; once the tag is set, it is refused.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { version } from "../../package.json";
import { keepKind, keepSurface, pathOf } from "../../tests/released/kept.ts";
import {
  deliverKept,
  type KeptFacts,
  makeKept,
  postgresSchema,
  type StartKept,
  sqliteSchema,
} from "../../tests/released/kept-data.ts";
import { dumped, restored, startOn } from "../../tests/released/postgres-data.ts";
import { metricsIn, surfaceNow } from "../../tests/released/surface.ts";
import { bareDatabase, hasPostgres } from "../../tests/support/postgres.ts";
import { startServer, temporaryDirectory } from "../../tests/support/server.ts";

const root = resolve(import.meta.dir, "../..");
const release = version.replace(/\.\d+$/, "");

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const tags = await Bun.$`git tag --list ${`v${release}.*`}`.cwd(root).quiet().nothrow().text();
if (tags.trim() !== "")
  fail(
    `${tags.trim().split("\n")[0]} is released, and what is kept of it does not change. Set a new version in package.json.`,
  );
if (!hasPostgres) fail("A release keeps a database of PostgreSQL, too: install the package postgresql.");

/** Opens a kept database as a later build does, and returns its metrics. Throws when a delivery does not arrive. */
async function metricsOf(start: StartKept, facts: KeptFacts) {
  const { ids, metrics } = await deliverKept(start, facts);
  if (ids.join() !== facts.pending.join())
    throw new Error(`Of ${facts.pending.length} pending deliveries, ${ids.length} arrived`);
  return metricsIn(metrics);
}

mkdirSync(pathOf(release, ""), { recursive: true });
keepSurface(release, await surfaceNow());

const directory = temporaryDirectory();
const data = directory.path;
const onSqlite: StartKept = (args, clock) => startServer({ args, clock, data, isOnSqlite: true });
const ofSqlite = await makeKept(onSqlite);
const file = join(data, "onair.db");
const content = readFileSync(file);
keepKind(release, "sqlite", {
  facts: ofSqlite,
  schema: sqliteSchema(file),
  metrics: await metricsOf(onSqlite, ofSqlite),
  data: content,
});
directory.remove();

const database = await bareDatabase();
const ofPostgres = await makeKept(startOn(database.url));
const sql = await dumped(database.url);
const schema = await postgresSchema(database.url);
const copy = await restored(sql);
const metrics = await metricsOf(startOn(copy.url), ofPostgres);
keepKind(release, "postgres", { facts: ofPostgres, schema, metrics, data: sql });
await database.drop();
await copy.drop();

process.stdout.write(`tests/released/${release} has what version ${version} promises.\n`);
process.exit(0); // ends the private PostgreSQL server
