import { getTableColumns, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { DomainError } from "../../domain/errors.ts";
import { once } from "../../runtime/lazily.ts";
import { type Dialect, excluded, type Orm, type Tables, type Work } from "../drizzle/dialect.ts";
import type { Commit } from "./commit.ts";
import { isForeignKeyViolation, isUniqueViolation } from "./faults.ts";
import * as schema from "./schema.ts";

const { placeholders, isOneOf, isHandedOut, deliveryRegionBits: _bits, ...all } = schema;

/** All tables with a drizzle schema. */
export const tables = all;

tables satisfies { readonly [Name in keyof Tables]: { readonly $inferSelect: Tables[Name]["$inferSelect"] } };

const rowId = sql`rowid`;

/** SQLite for the nouns in `store/drizzle`. The work of `transact` runs synchronously within a commit. */
export function sqliteDialect(database: BunSQLiteDatabase, commit: Commit): Dialect {
  const upserts = new Map<object, ReturnType<typeof upsertInto>>();
  // A boundary: SQLite's tables and statements with PostgreSQL's types. `tables satisfies` checks the rows.
  const orm = database as unknown as Orm;
  // A boundary: the table is one of SQLite, with a type of PostgreSQL.
  const put = (pgTable: object, rows: readonly object[]) =>
    atOnce(() => {
      if (rows.length === 0) return;
      const table = pgTable as SQLiteTable;
      const upsert = upserts.get(table) ?? upsertInto(database, table);
      upserts.set(table, upsert);
      for (const row of rows) upsert.run({ ...row });
    });
  const transact = <Result>(work: (orm: Orm) => Work<Result>) => commit(() => finished(work(orm)));
  return {
    tables: tables as unknown as Tables,
    orm,
    transact,
    runEach: transact,
    read: async (work) => finished(work(orm)),
    write: (statement) => commit(() => void rowsOf(statement)),
    prepared(name, build) {
      const made = once(() => build(orm).prepare(name));
      return (_, values) => made().execute(values);
    },
    put: (_, table, rows) => put(table, rows),
    putsRowByRow: true,
    attempt: (_, work) =>
      atOnce(() => {
        try {
          finished(work());
          return null;
        } catch (error) {
          if (isForeignKeyViolation(error) || isUniqueViolation(error)) return error as Error;
          throw error;
        }
      }),
    isOneOf: (column, values) => isOneOf(column, sql`${sql.param(values, asJson)}`),
    // One index has the deliveries that wait in the store, another index those in the dispatcher's memory.
    isPendingOf: (applicationId) =>
      sql`seq IN (
        SELECT seq FROM deliveries
        WHERE application_id = ${applicationId} AND next_attempt_at IS NOT NULL AND status = 'pending'
        UNION ALL
        SELECT seq FROM deliveries WHERE ${isHandedOut} AND application_id = ${applicationId})`,
    // No index has the subscription, so this scans the beginning of each application's backlog.
    waitingOf: (removed, most) =>
      removed.map(
        ({ application_id, ids }) => sql`(SELECT seq FROM (
          SELECT seq, subscription_id FROM deliveries
          WHERE application_id = ${application_id} AND next_attempt_at IS NOT NULL LIMIT ${most}
        ) WHERE subscription_id IN (SELECT value FROM json_each(${JSON.stringify(ids)})))`,
      ),
    lock: (query) => query,
    *lockTable() {},
    *lockOwners() {},
    made: () => rowId as unknown as PgColumn,
    rowId,
    isForeignKeyViolation: (error) =>
      isForeignKeyViolation(error instanceof DomainError ? error.cause : error),
  };
}

/** Encodes a list as JSON, to pass it as one parameter. */
const asJson = { mapToDriverValue: (values: unknown) => JSON.stringify(values) };

/** Prepares the statement that inserts a row in place of the row with its key. */
function upsertInto(database: BunSQLiteDatabase, table: SQLiteTable) {
  const key = Object.values<SQLiteColumn>(getTableColumns(table)).find(({ primary }) => primary);
  const target = key as SQLiteColumn;
  return database
    .insert(table)
    .values(placeholders(table))
    .onConflictDoUpdate({ target, set: excluded(table) })
    .prepare();
}

/** Runs work to its end. Call it within a commit. */
export function finished<Result>(work: Work<Result>): Result {
  let step = work.next();
  while (!step.done) step = work.next(step.value.map(rowsOf));
  return step.value;
}

/** Wraps a synchronous function as `Work`. */
// biome-ignore lint/correctness/useYield: there is no statement to wait for
export function* atOnce<Result>(work: () => Result): Work<Result> {
  return work();
}

interface Prepared {
  sync(): unknown;
}

/** Runs a statement of drizzle synchronously. */
function rowsOf(statement: PromiseLike<unknown>): unknown {
  // A boundary: drizzle's statements for SQLite can be prepared, and then run synchronously.
  const built = statement as unknown as Prepared | { prepare(): { execute(): Prepared } };
  return ("sync" in built ? built : built.prepare().execute()).sync();
}
