import type { Database } from "bun:sqlite";
import { type KindSizes, kindSizes } from "../../../domain/operations/kind-sizes.ts";

/** Returns the bytes used by each kind of data. Reads every page of the database, which blocks the thread. */
export function sizesByKind(db: Database): KindSizes {
  const tables = db
    .query<{ name: string; bytes: number }, []>(
      `SELECT ifnull(s.tbl_name, d.name) AS name, sum(d.pgsize) AS bytes
       FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY 1`,
    )
    .all();
  const free = db
    .query<{ bytes: number }, []>(
      "SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size",
    )
    .get();
  return kindSizes(tables, free?.bytes ?? 0);
}

/** Returns the size of a database in bytes, without its write-ahead log. */
export function databaseBytes(db: Database): number {
  const statement = "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size";
  return db.query<{ bytes: number }, []>(statement).get()?.bytes ?? 0;
}

/** Whether a database can return free pages to the file system. */
export function givesBack(db: Database): boolean {
  return db.query<{ auto_vacuum: number }, []>("PRAGMA auto_vacuum").get()?.auto_vacuum === 2;
}
