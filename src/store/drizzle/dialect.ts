import { type Column, eq, getTableColumns, type Placeholder, type SQL, sql, type Table } from "drizzle-orm";
import type { BunSQLDatabase } from "drizzle-orm/bun-sql";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { RemovedSubscriptions } from "../../domain/subscriptions.ts";
import type { CommonColumns, DeliveryColumns, TableOf, TagColumns } from "./columns.ts";

/*
 * This folder implements nouns for both databases, with statements of drizzle. It uses PostgreSQL's types, because its
 * statements are asynchronous. The tables of SQLite have the same columns.
 */

/** The tables that both databases have, with the columns that both have. */
export type Tables = {
  readonly [Name in keyof CommonColumns]: TableOf<CommonColumns[Name]>;
} & { readonly tags: TableOf<TagColumns>; readonly deliveries: TableOf<DeliveryColumns> };

/** drizzle on a database or in a transaction. */
export type Orm = BunSQLDatabase;

/**
 * Work in a transaction, as a generator with `yield* execute(statement)` in place of `await statement`: a transaction
 * of SQLite is synchronous, and one of PostgreSQL is not.
 */
export type Work<Result> = Generator<readonly PromiseLike<unknown>[], Result, unknown[]>;

/** Runs a statement and returns its rows, if it has any. */
export function* execute<Result>(statement: PromiseLike<Result>): Work<Result> {
  const [result] = yield [statement];
  return result as Result;
}

/**
 * Runs `select` queries in this order, on PostgreSQL in one round trip, and returns the rows of each. Each query sees
 * all that was committed before it began.
 */
export function* executeAll<Rows extends readonly (readonly unknown[])[]>(
  ...queries: { readonly [I in keyof Rows]: PromiseLike<Rows[I]> }
): Work<Rows> {
  // A boundary: the rows come in the order of the queries.
  return (yield queries) as unknown as Rows;
}

/**
 * Locks an application or a user until the transaction ends. Returns whether it exists. On SQLite, which has one
 * writer, nothing is locked.
 */
export function* lockOwner(
  { lock }: Dialect,
  orm: Orm,
  table: Tables["applications" | "users"],
  id: string | number,
  strength: LockStrength,
): Work<boolean> {
  const row = orm.select({ id: table.id }).from(table).where(eq(table.id, id));
  return (yield* execute(lock(row, strength))).length > 0;
}

/** A statement of drizzle that is not prepared yet. */
interface Preparable<Row> {
  prepare(name: string): { execute(values: Readonly<Record<string, unknown>>): PromiseLike<Row> };
}

type LockStrength = "update" | "no key update" | "key share";

/** One of the two databases: everything in which they differ. */
export interface Dialect {
  readonly tables: Tables;
  /** Reads outside of transactions. */
  readonly orm: Orm;
  /** Runs work in a transaction, which is rolled back if it throws. PostgreSQL may call `work` again. */
  transact<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /**
   * Runs statements one after the other. On PostgreSQL each commits before the next begins; on SQLite all commit at
   * once.
   */
  runEach<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /** Runs work that only reads, outside of a transaction. */
  read<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /** Runs one statement that writes. */
  write(statement: PromiseLike<unknown>): Promise<void>;
  /**
   * Makes a function that runs a frequent statement with placeholders. The statement is prepared once, except in
   * transactions of PostgreSQL, which have a connection of their own.
   */
  prepared<Row>(
    name: string,
    build: (orm: Orm) => Preparable<Row>,
  ): (orm: Orm, values: Readonly<Record<string, unknown>>) => PromiseLike<Row>;
  /** Inserts rows in their order, each in place of the row with its key. No key may occur twice. */
  put<Table extends PgTable>(orm: Orm, table: Table, rows: readonly Table["$inferInsert"][]): Work<void>;
  /** Whether a batch is put row by row. On PostgreSQL, where each statement is a round trip, rows are put together. */
  readonly putsRowByRow: boolean;
  /**
   * Runs work inside a transaction, which continues if the work fails because of a row: a key is taken or missing.
   * Returns null, or that error, after undoing the work. On SQLite the work must be a single statement.
   */
  attempt(orm: Orm, work: () => Work<void>): Work<Error | null>;
  /** Condition: a column has one of these values. There may be many, or one placeholder for the list. */
  isOneOf(column: PgColumn, values: readonly (string | number)[] | Placeholder): SQL;
  /**
   * Condition: a delivery of this application is pending. On PostgreSQL, which ends long statements, at most the `most`
   * deliveries that are due last.
   */
  isPendingOf(applicationId: string, most: number): SQL;
  /** Queries for the numbers of waiting deliveries of removed subscriptions, at most `most` each. */
  waitingOf(removed: readonly RemovedSubscriptions[], most: number): readonly SQL[];
  /** Locks the rows of a query until the transaction ends. On SQLite, which has one writer, this does nothing. */
  lock<Query>(query: Query, strength: LockStrength, config?: { readonly skipLocked: true }): Query;
  /** Prevents other changes of a table until the transaction ends: all, or only those that lock it like this, too. */
  lockTable(orm: Orm, table: PgTable, against: "changes" | "its lockers"): Work<void>;
  /**
   * Locks the application and the user of a row, so that they cannot be removed before the transaction ends. Called
   * before the row itself is locked, because removing an application or user takes the locks in this order.
   */
  lockOwners(
    orm: Orm,
    table: Tables["authorizationCodes" | "refreshTokens" | "loginRequests"],
    isIt: SQL | undefined,
  ): Work<void>;
  /** The column by which the rows of a table are in the order of their insertion. */
  made(table: Tables["tokens"]): PgColumn;
  /** The column that identifies a row of any table. */
  readonly rowId: SQL;
  /** Whether work failed because a row refers to a row that does not exist. */
  isForeignKeyViolation(error: unknown): boolean;
}

/** The columns of a table by their names. */
export const columnsOf = (table: Table): [string, Column][] => Object.entries(getTableColumns(table));

/** The assignments of an upsert on conflict: each column except the key gets the value that was to be inserted. */
export function excluded<Of extends Table>(table: Of): { [Name in keyof Of["_"]["columns"]]?: SQL } {
  const others = columnsOf(table).filter(([, column]) => !column.primary);
  const values = others.map(([name, column]) => [name, sql`excluded.${sql.identifier(column.name)}`]);
  // Object.fromEntries loses the names.
  return Object.fromEntries(values) as { [Name in keyof Of["_"]["columns"]]?: SQL };
}
