import { type KindSizes, kindSizes } from "../../../domain/operations/kind-sizes.ts";
import type { Queries } from "./pool.ts";

/** Returns the bytes used by each kind of data. Partitions count as their table. */
export async function sizesByKind(queries: Queries): Promise<KindSizes> {
  const tables = await queries.run<{ name: string; bytes: number }>(
    `SELECT coalesce(whole.relname, part.relname) AS name,
       sum(pg_total_relation_size(part.oid))::float8 AS bytes
     FROM pg_class part
     LEFT JOIN pg_inherits i ON i.inhrelid = part.oid
     LEFT JOIN pg_class whole ON whole.oid = i.inhparent
     WHERE part.relkind = 'r' AND part.relnamespace = current_schema()::regnamespace GROUP BY 1`,
  );
  return kindSizes(tables, 0);
}

/** Returns the size of the database in bytes. */
export async function databaseBytes(queries: Queries): Promise<number> {
  const statement = "SELECT pg_database_size(current_database())::float8 AS bytes";
  const [row] = await queries.run<{ bytes: number }>(statement);
  return row?.bytes ?? 0;
}
