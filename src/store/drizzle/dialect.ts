import type { Placeholder, SQL } from "drizzle-orm";
import type { BunSQLDatabase } from "drizzle-orm/bun-sql";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { BatchMode, BatchResult } from "../batch.ts";
import type { tables } from "../postgres/schema/tables.ts";
import type { RemovedSubscriptions } from "../subscriptions.ts";

/*
 * Nouns whose statements drizzle writes for both databases are implemented once, in this folder. Their types are
 * PostgreSQL's, whose statements are asynchronous; the tables of SQLite have the same columns.
 */

/** Tables that are other ones in each database, or that only PostgreSQL has. */
type Own =
  | "categoryOrders"
  | "deliveryParts"
  | "deliveryTimes"
  | "endpointShards"
  | "eventIds"
  | "events"
  | "replicas"
  | "userSearchTerms";

/** The tables that both databases have. Of deliveries, PostgreSQL has more columns. */
export type Tables = Omit<typeof tables, Own>;

/** drizzle on a database, or in a transaction. */
export type Orm = BunSQLDatabase;

/**
 * Work in a transaction: a generator in which `yield* execute(statement)` stands where `await statement` would, because a
 * transaction of SQLite is synchronous, and one of PostgreSQL waits for each statement.
 */
export type Work<Result> = Generator<readonly PromiseLike<unknown>[], Result, unknown[]>;

/** Runs a statement, and gives its rows where it has any. */
export function* execute<Result>(statement: PromiseLike<Result>): Work<Result> {
  const [result] = yield [statement];
  return result as Result;
}

/**
 * Runs queries of `select` in this order, and gives the rows of each. Each sees what was committed before it began, as if
 * one waited for the other; but with PostgreSQL all of them are one round trip.
 */
export function* executeAll<Rows extends readonly (readonly unknown[])[]>(
  ...queries: { readonly [I in keyof Rows]: PromiseLike<Rows[I]> }
): Work<Rows> {
  // A boundary: the rows come in the order of the queries.
  return (yield queries) as unknown as Rows;
}

/** What drizzle has built, before it is prepared. */
interface Preparable<Row> {
  prepare(name: string): { execute(values: Readonly<Record<string, unknown>>): PromiseLike<Row> };
}

type LockStrength = "update" | "no key update" | "key share";

/** How rows of a batch are kept one after the other, of which some may be refused. */
interface Keeping<Row> {
  /** Why a row is not kept, which is known before; null: it is to be kept. */
  refused?(row: Row): string | null;
  /** Keeps rows in their order. It may fail for any of them. */
  put(orm: Orm, rows: readonly Row[]): Work<void>;
  /** Why a row cannot be kept, of which `put` alone has failed with this error; null: for no reason of its own. */
  refusal(orm: Orm, row: Row, error: unknown): Work<string | null>;
  /** What comes before an atomic batch, in the same transaction. */
  begin?(orm: Orm, rows: readonly Row[]): Work<void>;
  /** What follows in the same transaction, with the rows that were kept. */
  finish?(orm: Orm, kept: readonly Row[]): Work<void>;
}

/** One of the two databases, with that in which they differ. */
export interface Dialect {
  readonly tables: Tables;
  /** For reading outside of transactions. */
  readonly orm: Orm;
  /** Runs work in a transaction, and undoes it where it throws. PostgreSQL may have to begin it anew. */
  transact<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /** Runs statements one after the other, each of which is seen before the next one begins; with SQLite all at once. */
  inTurn<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /** Runs work that only reads, outside of a transaction. */
  read<Result>(work: (orm: Orm) => Work<Result>): Promise<Result>;
  /** Runs one statement that changes something. */
  write(statement: PromiseLike<unknown>): Promise<void>;
  /**
   * A statement that is run often, with placeholders: prepared once, but for transactions of PostgreSQL, each of which has
   * a connection of its own.
   */
  prepared<Row>(
    name: string,
    build: (orm: Orm) => Preparable<Row>,
  ): (orm: Orm, values: Readonly<Record<string, unknown>>) => PromiseLike<Row>;
  /** Puts rows in their order, each in place of the one with its key. No key may be there twice. */
  put<Table extends PgTable>(orm: Orm, table: Table, rows: readonly Table["$inferInsert"][]): Work<void>;
  /** Keeps a batch of rows in one transaction, as if they were kept one after the other: what cannot be is refused alone. */
  keepEach<Row>(rows: readonly Row[], mode: BatchMode, keeping: Keeping<Row>): Promise<BatchResult>;
  /** Whether a column has one of these values, of which there may be many; with a placeholder it takes the list. */
  isOneOf(column: PgColumn, values: readonly (string | number)[] | Placeholder): SQL;
  /** Whether a delivery is pending, of this application. */
  isPendingOf(applicationId: string): SQL;
  /** Queries for the numbers of deliveries that wait of removed subscriptions; of a long backlog for the beginning. */
  waitingOf(removed: readonly RemovedSubscriptions[], most: number): readonly SQL[];
  /** Locks the rows of a query until the transaction ends. SQLite has one writer, and nothing to lock. */
  lock<Query>(query: Query, strength: LockStrength, config?: { readonly skipLocked: true }): Query;
  /** Keeps all others from changing a table until the transaction ends. */
  lockTable(orm: Orm, table: PgTable): Work<void>;
  /**
   * Before a row is locked for which others are made in its place: locks its application and its user, which can be
   * removed only after the transaction then, as they are locked first by those that remove them.
   */
  lockOwners(
    orm: Orm,
    table: Tables["authorizationCodes" | "refreshTokens" | "loginRequests"],
    isIt: SQL | undefined,
  ): Work<void>;
  /** The order in which the rows of a table were made. */
  made(table: Tables["tokens" | "loginRequests"]): PgColumn;
  /** What names a row of every table. */
  readonly rowId: SQL;
  /** Whether work failed because a row refers to one that does not exist. */
  isForeignKeyViolation(error: unknown): boolean;
}
