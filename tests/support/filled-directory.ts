import { Database, type SQLQueryBindings } from "bun:sqlite";
import { join } from "node:path";
import { type Column, getTableColumns } from "drizzle-orm";
import { copiedNouns, copiedSettings } from "../../src/domain/copy.ts";
import { sqliteTables } from "../../src/store/sqlite/copy.ts";
import { keptBody } from "../../src/store/sqlite/delivery-rows.ts";
import { openDatabase } from "../../src/store/sqlite/open.ts";
import { ownDirectory } from "./server.ts";

type Noun = keyof typeof sqliteTables;
type Row = Record<string, SQLQueryBindings>;

const nouns: readonly Noun[] = [...copiedNouns, "attempts"];

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
const log: Partial<Record<Noun, readonly Row[]>> = {
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
      broadcaster_user_id: 0,
      name: "",
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
  for (const noun of nouns) for (const n of [1, 2]) insert(db, noun, n);
  db.run("UPDATE tokens SET user_id = NULL WHERE expires_at % 2 = 0");
  close();
  return directory;
}

function insert(db: Database, noun: Noun, n: number): void {
  const columns: [string, Column][] = Object.entries(getTableColumns(sqliteTables[noun]));
  const row = { ...Object.fromEntries(columns.map(([name, column]) => [name, filling(name, column, n)])) };
  Object.assign(row, log[noun]?.[n - 1]);
  const names = Object.keys(row);
  db.query(
    `INSERT INTO ${noun} (${names.map((name) => `"${name}"`).join()}) VALUES (${names.map(() => "?").join()})`,
  ).run(...Object.values(row));
}

/**
 * The rows of each copied table. The sequence numbers of an event without deliveries are left out, because its
 * position among the others changes on the way through PostgreSQL.
 */
export function rowsIn(directory: string): Record<string, unknown[]> {
  const db = new Database(join(directory, "onair.db"), { readonly: true });
  const rows = nouns.map((noun) => {
    const where = noun === "settings" ? `WHERE ${copiedSettings}` : "";
    const found = db.query<Row, []>(`SELECT * FROM ${noun} ${where} ORDER BY 1, 2`).all();
    for (const row of found) {
      if (noun !== "events" || row["deliveries"] !== 0) continue;
      delete row["seq"];
      delete row["first_delivery"];
    }
    return [noun, found];
  });
  db.close();
  return Object.fromEntries(rows);
}
