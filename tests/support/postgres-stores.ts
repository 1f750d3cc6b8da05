import type { Store } from "../../src/domain/store.ts";
import { openPool, type Postgres } from "../../src/postgres/pool.ts";
import { openPostgresStore } from "../../src/postgres/store.ts";
import { type ConnectionSettings, readDatabaseUrl } from "../../src/store/location.ts";
import { afterThisTest } from "./after-tests.ts";
import { emptyDatabase } from "./postgres.ts";

/**
 * In a test: two stores on one empty database, as two replicas have, and a pool that looks into it; removed after the
 * test.
 */
export async function ownPostgres(): Promise<{
  store: Store;
  other: Store;
  pool: Postgres;
  settings: ConnectionSettings;
}> {
  const { url, drop } = await emptyDatabase();
  const settings = readDatabaseUrl(url);
  const [store, other] = [
    await openPostgresStore(settings, { connections: 4 }),
    await openPostgresStore(settings, { connections: 2 }),
  ];
  const pool = openPool(settings, { connections: 2 });
  afterThisTest(async () => {
    await Promise.all([store.close(), other.close(), pool.close()]);
    await drop();
  });
  return { store, other, pool, settings };
}

/** How many statements of other connections to this database wait for a lock. */
export async function waitingForLocks({ run }: Pick<Postgres, "run">): Promise<number> {
  const rows = await run(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length;
}
