import { statSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import type { Store } from "../../../src/domain/store.ts";
import { type NewUser, type UserInput, userFrom } from "../../../src/domain/users.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import type { Bench } from "../support/bench.ts";
import { copyOfData, filledPlatform } from "../support/filled.ts";
import { sampleUsers } from "../support/platform.ts";

export const insertedAtOnce = 5_000;
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
