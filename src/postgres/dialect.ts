import { type Column, getTableColumns, inArray, is, Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { once } from "../runtime/lazily.ts";
import {
  columnsOf,
  type Dialect,
  excluded,
  execute,
  executeAll,
  type Tables,
  type Work,
} from "../store/drizzle/dialect.ts";
import { codeOf, isForeignKeyViolation } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";
import * as schema from "./schema.ts";

const { deliveryNumbers: _, ...all } = schema;

/** All tables. */
export const tables = all;

const { applications, deliveries, users } = tables;

/** PostgreSQL for the nouns in `store/drizzle`. */
export function postgresDialect(db: Postgres): Dialect {
  const { orm } = db;
  return {
    tables,
    orm,
    transact: (work) => db.transact(({ orm }) => finished(work(orm))),
    runEach: (work) => finished(work(orm)),
    read: (work) => finished(work(orm)),
    async write(statement) {
      await statement;
    },
    prepared(name, build) {
      const made = once(() => build(orm).prepare(name));
      return (on, values) => (on === orm ? made() : build(on).prepare(name)).execute(values);
    },
    put,
    putsRowByRow: false,
    attempt,
    isOneOf,
    isPendingOf: (applicationId, most) =>
      sql`${deliveries.status} = 'pending' AND ${deliveries.seq} IN (
        SELECT seq FROM deliveries WHERE application_id = ${applicationId} AND status = 'pending'
        ORDER BY next_attempt_at DESC, seq DESC LIMIT ${most})`,
    waitingOf(removed, most) {
      const { subscription_id } = deliveries;
      const isTheirs = isOneOf(
        subscription_id,
        removed.flatMap(({ ids }) => ids),
      );
      return [sql`(SELECT seq FROM ${deliveries} WHERE ${isTheirs} AND status = 'pending' LIMIT ${most})`];
    },
    // A boundary: every select query of drizzle has `for`, each with its own type.
    lock: <Query>(query: Query, ...how: [string, object?]) =>
      (query as { for(...how: [string, object?]): Query }).for(...how),
    *lockTable(orm, table, against) {
      const mode = sql.raw(against === "changes" ? "SHARE ROW EXCLUSIVE" : "SHARE UPDATE EXCLUSIVE");
      yield* execute(orm.execute(sql`LOCK TABLE ${table} IN ${mode} MODE`));
    },
    lockOwners,
    made: () => tables.tokens.made,
    rowId: sql`ctid`,
    isForeignKeyViolation,
  };
}

/**
 * Inserts rows with one statement. Unchanged rows are not written, except in tables with `json`, which cannot be
 * compared.
 */
function* put<Table extends PgTable>(
  orm: Queries["orm"],
  table: Table,
  rows: readonly Table["$inferInsert"][],
): Work<void> {
  if (rows.length === 0) return;
  const columns: Column[] = Object.values(getTableColumns(table));
  const isJson = (column: Column) => column.getSQLType() === "json";
  const cells = columns.map((column) => {
    // Columns that only this database has.
    if (!rows.some((row) => column.name in row)) return sql`NULL`;
    return sql`given.${sql.identifier(column.name)}${sql.raw(isJson(column) ? "::json" : "")}`;
  });
  const key = columns.find(({ primary }) => primary) as PgColumn;
  yield* execute(
    orm
      .insert(table)
      .select(sql`SELECT ${sql.join(cells, sql`, `)} FROM ${passedRows(table, rows)} ORDER BY given.n`)
      .onConflictDoUpdate({
        target: key,
        set: excluded(table),
        ...(!columns.some(isJson) && { setWhere: sql`${table} IS DISTINCT FROM excluded` }),
      }),
  );
}

/** Runs work to its end. */
export async function finished<Result>(work: Work<Result>): Promise<Result> {
  let step = work.next();
  while (!step.done) step = work.next(await Promise.all(step.value));
  return step.value;
}

/** Codes of errors caused by a single row: a key that is taken or missing, or the same row twice. */
const ofARow = /^(23505|23503|21000)$/;

function* attempt(orm: Queries["orm"], work: () => Work<void>): Work<Error | null> {
  yield* execute(orm.execute(sql`SAVEPOINT attempt`));
  const error = yield* execute(failureOf(finished(work())));
  if (error) yield* execute(orm.execute(sql`ROLLBACK TO attempt`));
  yield* execute(orm.execute(sql`RELEASE attempt`));
  return error;
}

async function failureOf(work: Promise<void>): Promise<Error | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (ofARow.test(codeOf(error))) return error as Error;
    throw error;
  }
}

function* lockOwners(
  orm: Queries["orm"],
  table: Tables["authorizationCodes" | "refreshTokens" | "loginRequests"],
  isIt: SQL | undefined,
): Work<void> {
  const of = (owner: PgColumn) => orm.select({ owner }).from(table).where(isIt);
  const isIts = inArray(applications.id, of(table.application_id));
  const isTheirs = inArray(users.id, of(table.user_id));
  yield* executeAll(
    orm.select({ id: applications.id }).from(applications).where(isIts).for("key share"),
    orm.select({ id: users.id }).from(users).where(isTheirs).for("key share"),
  );
}

/**
 * Passes rows to a statement as a table named `given`. Each column is one parameter, an array. JSON columns have the
 * type `text`, because PostgreSQL would read an array of JSON arrays as a multidimensional array. The column `n`
 * numbers the rows.
 */
export function passedRows<Table extends PgTable>(
  table: Table,
  rows: readonly { readonly [Name in keyof Table["_"]["columns"]]?: unknown }[],
): SQL {
  const isSet = (name: string) => rows.length === 0 || rows.some((row) => name in row);
  const columns = columnsOf(table).filter(([name]) => isSet(name));
  const arrays = columns.map(([name, column]) => {
    const isJson = column.getSQLType() === "json";
    const values = rows.map((row) => (isJson ? JSON.stringify(cellOf(row, name)) : cellOf(row, name)));
    return sql`${sql.param(values)}::${sql.raw(isJson ? "text" : column.getSQLType())}[]`;
  });
  const names = columns.map(([, column]) => sql.identifier(column.name));
  return sql`unnest(${sql.join(arrays, sql`, `)}) WITH ORDINALITY AS given(${sql.join([...names, sql.identifier("n")], sql`, `)})`;
}

const cellOf = (row: object, name: string): unknown => (row as Record<string, unknown>)[name] ?? null;

/** Condition: a column has one of these values. They are one parameter, however many there are. */
export function isOneOf(column: PgColumn, values: readonly (string | number)[] | Placeholder): SQL {
  const list = is(values, Placeholder) ? values : sql.param(values);
  return sql`${column} = ANY(${list}::${sql.raw(column.getSQLType())}[])`;
}
