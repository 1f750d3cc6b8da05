import { Database, type SQLQueryBindings } from "bun:sqlite";
import { join } from "node:path";
import { type Column, getTableColumns } from "drizzle-orm";
import { copiedSettings } from "../../src/store/data-storage.ts";
import { copiedTables } from "../../src/store/sqlite/copy.ts";
import { keptBody } from "../../src/store/sqlite/delivery-rows.ts";
import { openDatabase } from "../../src/store/sqlite/open.ts";
import { attempts } from "../../src/store/sqlite/schema.ts";
import { ownDirectory } from "./server.ts";

type Row = Record<string, SQLQueryBindings>;

/** The tables with copied rows, by name. */
export const filledTables = new Map([...copiedTables, ["attempts", attempts]]);

/** The `n`th value for a column: contains the column's name and characters that JSON and SQL must escape. */
function filling(name: string, column: Column, n: number): SQLQueryBindings {
  if (["application_id", "app_id"].includes(name)) return `id ${n} 'ä`;
  if (/^(user_id|owner_user_id|broadcaster_user_id|channel_id|category_id)$/.test(name)) return n;
  if (column.dataType === "buffer") return Buffer.from([0, 255, n]);
  if (column.dataType === "boolean") return n % 2;
  if (name === "example") return "{}";
  if (column.dataType === "json")
    return JSON.stringify(name === "schema" ? { type: "object", description: "\0" } : [`${name} ${n}`]);
  if (column.dataType === "number") return name === "seq" || name === "id" ? n : 1_700_000_000_000 + n;
  return `${name} ${n} 'ä`;
}

/** The boundary between two partitions of the log in PostgreSQL. */
const partSize = 2 ** 28;

/**
 * Two deliveries of one event in two partitions of the log, one of them pending after an attempt; and an event without
 * deliveries.
 */
const log: Readonly<Record<string, readonly Row[]>> = {
  events: [
    {
      seq: 1,
      first_delivery: partSize - 1,
      deliveries: 2,
      version: 1,
      body: keptBody('{"type":"channel.followed","version":1,"timestamp":""}'),
    },
    {
      seq: partSize + 3,
      first_delivery: partSize + 1,
      deliveries: 0,
      version: 1,
      body: null,
      published_at: 1_700_000_000_001,
    },
  ],
  deliveries: [
    {
      event_seq: 1,
      seq: partSize - 1,
      status: "pending",
      attempts: 2,
      extra_attempts: 1,
      next_attempt_at: 1_800_000_000_000,
    },
    {
      event_seq: 1,
      seq: partSize,
      status: "delivered",
      attempts: 1,
      extra_attempts: 0,
      next_attempt_at: null,
    },
  ],
  attempts: [
    { delivery_seq: partSize - 1, number: 1, dns_ms: 0.25, response: 'it said "\0"' },
    { delivery_seq: partSize - 1, number: 2, error: null, tls_ms: null },
  ],
};

/** In a test: a data directory with rows in every copied table; removed after the test. */
export function filledDirectory(): string {
  const directory = ownDirectory();
  const { db, close } = openDatabase(directory);
  for (const name of filledTables.keys()) for (const n of [1, 2]) insert(db, name, n);
  db.run("UPDATE tokens SET user_id = NULL WHERE expires_at % 2 = 0");
  close();
  return directory;
}

function insert(db: Database, name: string, n: number): void {
  const table = filledTables.get(name);
  if (!table) throw new Error(`${name} is not copied`);
  const columns: [string, Column][] = Object.entries(getTableColumns(table));
  const row = { ...Object.fromEntries(columns.map(([name, column]) => [name, filling(name, column, n)])) };
  Object.assign(row, log[name]?.[n - 1]);
  const names = Object.keys(row);
  db.query(
    `INSERT INTO ${name} (${names.map((name) => `"${name}"`).join()}) VALUES (${names.map(() => "?").join()})`,
  ).run(...Object.values(row));
}

/** The rows of each copied table. The place of an event without deliveries among the deliveries is not kept. */
export function rowsIn(directory: string): Record<string, unknown[]> {
  const db = new Database(join(directory, "onair.db"), { readonly: true });
  const rows = [...filledTables.keys()].map((name) => {
    const from = name === "settings" ? copiedSettings : name;
    const found = db.query<Row, []>(`SELECT * FROM ${from} ORDER BY 1, 2`).all();
    for (const row of found) if (name === "events" && row["deliveries"] === 0) delete row["first_delivery"];
    return [name, found];
  });
  db.close();
  return Object.fromEntries(rows);
}
