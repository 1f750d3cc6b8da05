import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { type NewUser, type UserInput, userFrom } from "../../../src/domain/users.ts";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { sampleUsers } from "../support/platform.ts";
import { BenchError } from "../support/processes.ts";

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

/** Fills a store that has no users. */
export async function fill({ users: kept }: Store, place: string, count: number): Promise<void> {
  if ((await kept.count()) === 0) {
    for (const group of groups(users(count), insertedAtOnce)) await kept.upsert(group, now);
    await kept.tidySearch();
  }
  const found = await kept.count();
  if (found !== count) throw new BenchError(`${place} holds ${found} users and not ${count}: remove it`);
}

/** A store with what the benchmark asks of its database. */
interface Opened {
  readonly store: Store;
  databaseBytes(): Promise<number>;
  close(): Promise<void>;
}

export async function onSqlite(directory: string): Promise<Opened> {
  mkdirSync(directory, { recursive: true });
  const store = openStore(directory);
  const databaseBytes = async () => statSync(join(directory, "onair.db")).size;
  return { store, databaseBytes, close: () => store.close() };
}

/** The server is configured for a small machine; `url` null: one that ends with this. */
export async function onPostgres(url: string | null): Promise<Opened> {
  const server = url === null ? await startPostgres(["shared_buffers=512MB"]) : null;
  const database = url ?? server?.url("postgres") ?? "";
  const store = await openPostgresStore(readDatabaseUrl(database), { connections: 4 });
  const close = async () => {
    await store.close();
    await server?.stop();
  };
  const databaseBytes = async () => {
    const sql = new SQL(database, { max: 1 });
    const [row] = await sql`SELECT pg_database_size(current_database())::float8 AS bytes`;
    await sql.close();
    return row.bytes;
  };
  return { store, databaseBytes, close };
}
