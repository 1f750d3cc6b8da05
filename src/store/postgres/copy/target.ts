import { StoreError } from "../../faults.ts";
import { type CopiedNoun, type CopiedRow, type CopyTarget, notEmptyMessage } from "../../operations/copy.ts";
import { type ConnectionSettings, shownPlace } from "../database/connection-url.ts";
import { openPostgres } from "../database/open.ts";
import { openPool, type Queries } from "../database/pool.ts";
import { makePart, partOf } from "../deliveries/parts.ts";
import { foldedNames, termsOf } from "../search/terms.ts";
import { countsOf } from "./source.ts";
import { copiedColumns, type PostgresTable } from "./tables.ts";

/**
 * Copies into an empty database, in one transaction: what is cut off leaves nothing. A server that starts meanwhile
 * waits, because the settings are locked. Throws `StoreError`.
 */
export async function copyingToDatabase<T>(
  settings: ConnectionSettings,
  now: number,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  await (await openPostgres(settings, { connections: 1 })).close();
  const pool = openPool(settings, { connections: 1, statementTimeoutMs: 0 });
  try {
    return await pool.transact(async (transaction) => {
      await transaction.run("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
      const there = await countsOf(transaction);
      if (Object.values(there).some((count) => count > 0)) {
        throw new StoreError(notEmptyMessage(`The database ${shownPlace(settings)}`), true);
      }
      const filling = new Filling(transaction, now);
      return await work({
        add: (noun, rows) => filling.add(noun, rows),
        async counts() {
          await filling.end();
          return countsOf(transaction);
        },
      });
    });
  } finally {
    await pool.close();
  }
}

const numberOf = (row: CopiedRow, name: string): number => Number(row[name] ?? 0);

class Filling {
  readonly #parts = new Set([0]);
  #minute = -1;
  #lastNumber = 0;

  constructor(
    readonly queries: Queries,
    readonly now: number,
  ) {}

  async add(noun: CopiedNoun, rows: readonly CopiedRow[]): Promise<void> {
    if (noun === "users") return this.#addUsers(rows);
    if (noun === "events") return this.#addEvents(rows);
    if (noun === "deliveries") await this.#givenNumbers(rows.map((row) => numberOf(row, "seq")));
    await this.#insert(noun, rows);
  }

  /** What is counted on from what was copied. */
  async end(): Promise<void> {
    for (const table of ["notices", "audit"]) {
      await this.queries.run(
        `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(seq)) FROM ${table} HAVING max(seq) > 0`,
      );
    }
    if (this.#lastNumber === 0) return;
    await this.queries.run("SELECT setval('delivery_numbers', $1)", [this.#lastNumber]);
    const current = partOf(this.#lastNumber);
    await makePart(this.queries, current + 1);
    // What is old is removed by the time of the copy: nobody knows when these numbers were given.
    for (const part of this.#parts) {
      const ended = part < current ? this.now : null;
      await this.queries.run("INSERT INTO delivery_parts (part, begun_at, ended_at) VALUES ($1, $2, $3)", [
        part,
        this.now,
        ended,
      ]);
    }
    await this.queries.run("ANALYZE");
  }

  async #addUsers(rows: readonly CopiedRow[]): Promise<void> {
    const folded = rows.map((row) => ({
      ...row,
      folded: foldedNames({ username: String(row["username"]), display_name: String(row["display_name"]) }),
    }));
    await this.#insert("users", folded, [{ name: "folded", type: "text" }]);
    await this.queries.run(
      "INSERT INTO user_search (user_id, terms) SELECT id, terms::int4[] FROM unnest($1::bigint[], $2::text[]) AS t(id, terms)",
      [folded.map((row) => numberOf(row, "id")), folded.map((row) => `{${termsOf(row.folded)}}`)],
    );
  }

  async #addEvents(rows: readonly CopiedRow[]): Promise<void> {
    await this.#givenNumbers(
      rows.flatMap((row) => [
        numberOf(row, "seq"),
        numberOf(row, "first_delivery") + numberOf(row, "deliveries") - 1,
      ]),
    );
    await this.#insert("event_ids", rows);
    await this.#insert(
      "events",
      rows.filter(({ body }) => body !== null),
    );
    const times: CopiedRow[] = [];
    for (const row of rows) {
      const at = numberOf(row, "published_at");
      const minute = Math.floor(at / 60_000);
      if (minute <= this.#minute) continue;
      this.#minute = minute;
      times.push({ at, seq: row["first_delivery"] });
    }
    await this.#insert("delivery_times", times);
  }

  async #givenNumbers(numbers: readonly number[]): Promise<void> {
    for (const number of numbers) {
      this.#lastNumber = Math.max(this.#lastNumber, number);
      const part = partOf(number);
      if (this.#parts.has(part)) continue;
      this.#parts.add(part);
      await makePart(this.queries, part);
    }
  }

  /** Rows are one parameter. What is JSON is text in it, because an escaped NUL cannot be read out of JSON but as JSON. */
  async #insert(
    table: PostgresTable,
    rows: readonly CopiedRow[],
    more: readonly { name: string; type: string }[] = [],
  ): Promise<void> {
    if (rows.length === 0) return;
    const columns = [...copiedColumns(table), ...more];
    const isJson = (type: string) => type.startsWith("json");
    const given = columns.map(({ name, type }) => `"${name}" ${isJson(type) ? "text" : type}`);
    const values = columns.map(({ name, type }) => {
      if (type === "json[]") return `ARRAY(SELECT json_array_elements("${name}"::json))`;
      return type === "json" ? `"${name}"::json` : `"${name}"`;
    });
    const json = columns.filter(({ type }) => isJson(type)).map(({ name }) => name);
    const encoded = rows.map((row) => {
      const texts = json.map((name) => [name, row[name] === null ? null : JSON.stringify(row[name])]);
      return {
        ...Object.fromEntries(columns.map(({ name }) => [name, row[name]])),
        ...Object.fromEntries(texts),
      };
    });
    await this.queries.run(
      `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join()}) OVERRIDING SYSTEM VALUE
       SELECT ${values.join()} FROM json_to_recordset($1::text::json) AS given(${given.join()})`,
      [JSON.stringify(encoded)],
    );
  }
}
