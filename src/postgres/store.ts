import { newReplica } from "../domain/ids.ts";
import type { Ownership, ReplicaLink } from "../domain/replicas.ts";
import { type OnFault, type Store, StoreError } from "../domain/store.ts";
import { copyingSetting, incomplete } from "../store/data-storage.ts";
import { livestreamStore } from "../store/drizzle/livestreams.ts";
import { commonNouns } from "../store/drizzle/nouns.ts";
import { statisticStore } from "../store/drizzle/statistics.ts";
import { subscriptionStore } from "../store/drizzle/subscriptions.ts";
import { nounsOf } from "../store/effects.ts";
import { type ConnectionSettings, shownLocation } from "../store/location.ts";
import { deliveryStore } from "./deliveries.ts";
import { postgresDialect } from "./dialect.ts";
import { databaseBytes, sizesByKind } from "./facts.ts";
import { codeOf, explainedFault, isUnreachable } from "./faults.ts";
import { appliedSteps, migrateDatabase, schemaSteps } from "./migrations.ts";
import { Notifications, ReplicaExchange } from "./notifications.ts";
import { orderStore, postgresReplays, putLivestreams, subscriptionStatements, userStore } from "./nouns.ts";
import { openPool, type PoolOptions, type Postgres } from "./pool.ts";
import { eventPublisher } from "./publish.ts";
import { ClaimedDeliveries } from "./queue.ts";
import { Replica } from "./replica.ts";
import { retentionStore } from "./retention.ts";
import { livestreams } from "./schema.ts";
import { leaseMs, OwnedShards } from "./shards.ts";

const oldestVersion = 15;

/**
 * Connects to a database and migrates it to the current schema. `applying` is called with the name of each migration
 * before it begins. Throws a `StoreError` that says what to do when the database cannot be used.
 */
export async function openPostgres(
  settings: ConnectionSettings,
  options: PoolOptions,
  applying?: (name: string) => void,
): Promise<Postgres> {
  const pool = openPool(settings, options);
  try {
    await requireUsable(pool);
    if ((await appliedSteps(pool)) < schemaSteps.length) {
      await requireRights(pool);
      const patient = openPool(settings, { connections: 1, statementTimeoutMs: 0 });
      await migrateDatabase(patient, schemaSteps, applying).finally(() => patient.close());
    }
    return pool;
  } catch (error) {
    await pool.close();
    throw explained(error, settings);
  }
}

/**
 * Returns the names of applied and pending migrations.
 * Changes nothing. Throws a `StoreError`, also for a database that a copy is filling.
 */
export async function schemaOf(settings: ConnectionSettings): Promise<{
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}> {
  const pool = openPool(settings, { connections: 1 });
  try {
    await requireUsable(pool);
    const applied = await appliedSteps(pool);
    if (applied > 0) {
      const copying = await pool.run("SELECT FROM settings WHERE key = $1", [copyingSetting]);
      if (copying.length > 0) throw incomplete(shownLocation(settings));
    }
    const names = schemaSteps.map(({ name }) => name);
    return { applied: names.slice(0, applied), pending: names.slice(applied) };
  } catch (error) {
    throw explained(error, settings);
  } finally {
    await pool.close();
  }
}

async function requireUsable(pool: Postgres): Promise<void> {
  const [facts] = await pool.run<{
    version: string;
    number: number;
    encoding: string;
    schema: string | null;
  }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_setting('server_encoding') AS encoding, current_schema() AS schema`,
  );
  if (!facts) throw new StoreError("The database does not report its version.", true);
  if (facts.number < oldestVersion * 10_000) {
    throw new StoreError(
      `The server is PostgreSQL ${facts.version}; onair needs ${oldestVersion} or newer. Upgrade it, or use another one.`,
      true,
    );
  }
  if (facts.encoding !== "UTF8") {
    throw new StoreError(
      `The database has the encoding ${facts.encoding}; onair needs UTF8. Create one: createdb --encoding UTF8 --template template0 onair`,
      true,
    );
  }
  if (facts.schema === null) {
    throw new StoreError(
      "No schema of the search_path exists. Create one, for example: CREATE SCHEMA public",
      true,
    );
  }
}

/** Checks the right to create tables, before anything is changed. */
async function requireRights(pool: Postgres): Promise<void> {
  const [facts] = await pool.run<{ role: string; schema: string; may_create: boolean }>(
    `SELECT quote_ident(current_user) AS role, quote_ident(current_schema()) AS schema,
       has_schema_privilege(current_schema(), 'CREATE') AS may_create`,
  );
  if (facts && !facts.may_create)
    throw missing(`GRANT CREATE, USAGE ON SCHEMA ${facts.schema} TO ${facts.role}`);
}

function missing(grant: string): StoreError {
  return new StoreError(`The role of onair lacks a right. As the owner of the database: ${grant}`, true);
}

/** Converts an error of connecting to a `StoreError` without the password. Returns any other error unchanged. */
function explained(error: unknown, settings: ConnectionSettings): unknown {
  if (error instanceof StoreError) return error;
  const location = shownLocation(settings);
  const code = codeOf(error);
  const says = error instanceof Error ? error.message : String(error);
  const because = (what: string) => new StoreError(what, true);
  if (code === "28P01" || code === "28000") {
    return because(
      `The server of ${location} refuses the role ${settings.user}: ${says}. Check user, password and sslmode.`,
    );
  }
  if (code === "3D000") {
    const { database, user } = settings;
    return because(
      `There is no database ${database} on that server. Create it: createdb --encoding UTF8 --template template0 --owner ${user} ${database}`,
    );
  }
  // 26000, 42P05: the prepared statements of another server connection.
  if (/unsupported startup parameter/.test(says) || /^(26000|42P05)$/.test(code)) {
    return because(
      `${location} is a connection pooler, such as PgBouncer: ${says}. Name the server itself with --database-direct, beside --database.`,
    );
  }
  if (code === "42501") return because(`The role ${settings.user} lacks a right in ${location}: ${says}.`);
  if (/CERT|SSL|TLS/.test(code)) {
    return because(
      `The encryption of the connection to ${location} fails: ${says}. Check sslmode and sslrootcert.`,
    );
  }
  if (!isUnreachable(error)) return error;
  return new StoreError(
    `The database ${location} cannot be reached: ${says}. Is the server running, and may this machine connect?`,
  );
}

/**
 * Opens the store of a database, and migrates it to the current schema. Throws a `StoreError` when it cannot be used.
 */
export async function openPostgresStore(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Promise<Store> {
  return storeOn(await openPostgres(settings, options), onFault);
}

interface ReplicaOptions extends PoolOptions {
  readonly onFault?: OnFault | undefined;
  /** Called with the name of each migration before it begins. */
  readonly applying?: ((name: string) => void) | undefined;
  /** The number of this process; null for a new one. */
  readonly replica?: number | null | undefined;
}

/**
 * The connections for heartbeats and for pulses of notifications. A heartbeat that takes longer than the lease is of no
 * use.
 */
const leaseConnections = { connections: 2, statementTimeoutMs: leaseMs };

interface OpenReplica {
  readonly store: Store;
  readonly ownership: Ownership;
  readonly replicas: ReplicaLink;
  /** Rejects when the database has no space for new rows. */
  takeSpace(): Promise<void>;
}

/**
 * Opens the store as one of the replicas that serve the database. `direct` leads there without a pooler. `mayServe` is
 * called after the first heartbeat, and rejects when this process must not join the others.
 */
export async function openPostgresReplica(
  settings: ConnectionSettings,
  direct: ConnectionSettings,
  { onFault, applying, replica, ...options }: ReplicaOptions,
  mayServe: (store: Store) => Promise<void>,
): Promise<OpenReplica> {
  const db = await openPostgres(settings, options, applying);
  const owned = new OwnedShards(replica ?? newReplica());
  const lease = openPool(settings, { ...leaseConnections, isPooled: options.isPooled === true });
  const notifications = new Notifications(direct, lease);
  const store = storeOn(db, onFault, owned);
  const replicas = new ReplicaExchange(db, owned.replica, notifications);
  const ownership = new Replica(db, lease, owned, notifications, async () => {
    // A newer version may have changed the database since it was opened.
    await appliedSteps(db);
    await mayServe(store);
  });
  const close = async () => {
    replicas.close();
    ownership.close();
    await notifications.close();
    await Promise.all([lease.close(), db.close()]);
  };
  return { store: Object.assign(store, { close }), ownership, replicas, takeSpace: () => takeSpace(db) };
}

/**
 * Writes a megabyte and removes it. Rejects when the disk has no space for it, where a small change of a row may still
 * succeed, because its page has some left. A role that may not create temporary tables takes none.
 */
async function takeSpace(db: Postgres): Promise<void> {
  try {
    await db.transact(async ({ run }) => {
      await run("CREATE TEMPORARY TABLE onair_space (filler text) ON COMMIT DROP");
      await run("INSERT INTO onair_space SELECT repeat('x', 1000) FROM generate_series(1, 1000)");
    });
  } catch (error) {
    if (codeOf(error) !== "42501") throw error;
  }
}

/** Opens a read-only view of the store for another thread. The database must have the current schema. */
export function openPostgresReader(
  settings: ConnectionSettings,
  options: PoolOptions,
  onFault?: OnFault,
): Store {
  return storeOn(openPool(settings, { ...options, isReader: true }), onFault);
}

function storeOn(db: Postgres, onFault: OnFault = () => {}, owned = new OwnedShards()): Store {
  const claimed = new ClaimedDeliveries();
  const dialect = postgresDialect(db);
  const sizes = {
    databaseBytes: () => databaseBytes(db),
    kindSizes: () => sizesByKind(db),
    connectionUse: async () => db.use,
  };
  const makers = {
    ...commonNouns(dialect),
    users: () => userStore(db, dialect),
    livestreams: () =>
      livestreamStore(dialect, {
        put: putLivestreams,
        all: async () => db.orm.select().from(livestreams),
      }),
    subscriptions: () => subscriptionStore(dialect, subscriptionStatements(db)),
    events: () => eventPublisher(db, claimed, owned),
    deliveries: () => deliveryStore(db, claimed, owned),
    replays: () => postgresReplays(dialect),
    statistics: () => statisticStore(dialect, sizes),
    retention: () => retentionStore(db),
    orders: () => orderStore(db),
  };
  const nouns = nounsOf(makers, (error) => explainedFault(error, onFault));
  return Object.assign(nouns, { close: () => db.close() });
}
