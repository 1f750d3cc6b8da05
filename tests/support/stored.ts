import { Database } from "bun:sqlite";
import { join } from "node:path";
import { SQL } from "bun";
import { databaseFor } from "./postgres.ts";
import { isOnPostgres } from "./server.ts";

/** Changes what the store of a server has, behind its back; `?` stands for the values. */
export async function changeStored(
  data: string,
  sql: string,
  values: (string | number)[] = [],
): Promise<void> {
  if (isOnPostgres) {
    const db = new SQL(await databaseFor(data), { max: 1 });
    let n = 0;
    await db.unsafe(
      sql.replace(/\?/g, () => `$${++n}`),
      values,
    );
    await db.close();
    return;
  }
  const db = new Database(join(data, "onair.db"));
  db.run("PRAGMA busy_timeout = 5000");
  db.run(sql, values);
  db.close();
}

/** Removes the body of a delivery's event, as retention does when it is old. */
export function forgetBody(data: string, deliveryId: string): Promise<void> {
  const remove = isOnPostgres ? "DELETE FROM events" : "UPDATE events SET body = NULL";
  const isIt = "seq = (SELECT event_seq FROM deliveries WHERE id = ?)";
  return changeStored(data, `${remove} WHERE ${isIt}`, [deliveryId]);
}
