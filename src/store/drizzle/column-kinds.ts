import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { kinds } from "../../postgres/columns.ts";

/*
 * This folder declares the tables that both databases have, without indexes and without columns that only one of them
 * has. Their types are PostgreSQL's.
 *
 * Integer times are milliseconds since the epoch, by the clock of the server. Text times are ISO 8601 and only shown.
 * Those of the platform are stored as it sent them, with up to nine digits of a second.
 */

/** Constructors of columns. Each database has its own. */
export type Kinds = typeof kinds;

/** The column that a foreign key refers to. */
export type ReferredColumn = () => AnyPgColumn;
