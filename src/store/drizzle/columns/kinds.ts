import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { kinds } from "../../postgres/schema/columns.ts";

/*
 * The tables that both databases have are written once, in this folder, but for their indexes and for columns of one
 * database alone. Their types are PostgreSQL's.
 *
 * Times are milliseconds since the epoch where On Air reckons with them, ISO 8601 text where it only shows them: the clock
 * is the program's, and a platform's timestamps are shown as it gave them, with up to nine digits of a second.
 */

/** The kinds of columns, as each database has them. */
export type Kinds = typeof kinds;

/** A column that another one refers to. */
export type ReferredColumn = () => AnyPgColumn;
