import { existsSync, readdirSync } from "node:fs";
import { bareDatabase, type TestDatabase } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import type { StartKept } from "./kept-data.ts";

/* A database of PostgreSQL as SQL, by PostgreSQL's own programs. */

/** The path of a program of PostgreSQL: of the newest server, as its clients may be older than the server. */
function program(name: string): string {
  const versions = "/usr/lib/postgresql";
  const found = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const path = found.map((version) => `${versions}/${version}/bin/${name}`).find((one) => existsSync(one));
  return path ?? Bun.which(name) ?? name;
}

/** Returns the SQL that makes a database as it is. Earlier and later versions of PostgreSQL read it. */
export async function dumped(url: string): Promise<Uint8Array> {
  const options = ["--no-owner", "--no-privileges", "--no-comments"];
  const child = Bun.spawn([program("pg_dump"), ...options, url], { stdout: "pipe", stderr: "pipe" });
  const [text, problem, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`pg_dump: ${problem}`);
  // What only this version of psql or the server knows.
  const lines = text.split("\n").filter((line) => !/^(\\(un)?restrict |SET transaction_timeout)/.test(line));
  return new TextEncoder().encode(lines.join("\n"));
}

/** Makes a database by its SQL. */
export async function restored(sql: Uint8Array): Promise<TestDatabase> {
  const database = await bareDatabase();
  const options = ["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null"];
  const child = Bun.spawn([program("psql"), ...options, database.url], {
    stdin: new Blob([sql as Uint8Array<ArrayBuffer>]),
    stderr: "pipe",
  });
  const [problem, code] = await Promise.all([child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`psql: ${problem}`);
  return database;
}

/** Starts servers on a database, whatever the tests run on. */
export const startOn =
  (url: string): StartKept =>
  (args, clock) =>
    startServer({ args, clock, isOnSqlite: true, env: { ONAIR_DATA: undefined, ONAIR_DATABASE: url } });
