import { Database } from "bun:sqlite";
import { SQL } from "bun";

const longestDrainMs = 60_000;

interface StatusCount {
  readonly status: string;
  readonly count: number;
}

const statusCounts = "SELECT status, CAST(count(*) AS int) AS count FROM deliveries GROUP BY status";

/** Waits until nothing is pending, or what is does not become less for long; gives what is wrong then. */
async function drained(counts: () => Promise<readonly StatusCount[]>): Promise<string[]> {
  const pending = async () => (await counts()).find(({ status }) => status === "pending")?.count ?? 0;
  let least = Number.POSITIVE_INFINITY;
  let end = Date.now() + longestDrainMs;
  for (let left = await pending(); left > 0 && Date.now() < end; left = await pending()) {
    if (left < least) end = Date.now() + longestDrainMs;
    least = Math.min(least, left);
    await Bun.sleep(50);
  }
  return (await counts())
    .filter(({ status }) => status !== "delivered")
    .map(({ status, count }) => `${count} deliveries are ${status} at the end`);
}

/** Waits for the server on a file of SQLite, which must be sound then. */
export async function drainedFile(file: string): Promise<string[]> {
  const db = new Database(file, { readonly: true });
  try {
    const statuses = db.prepare<StatusCount, []>(statusCounts);
    const problems = await drained(async () => statuses.all());
    const { integrity_check } = db
      .prepare<{ integrity_check: string }, []>("PRAGMA integrity_check(1)")
      .get() ?? { integrity_check: "none" };
    if (integrity_check !== "ok") problems.push(`the database is damaged: ${integrity_check}`);
    return problems;
  } finally {
    db.close();
  }
}

/** Waits for the servers on a database of PostgreSQL. */
export async function drainedPostgres(url: string): Promise<string[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    return await drained(() => sql.unsafe(statusCounts));
  } finally {
    await sql.close();
  }
}
