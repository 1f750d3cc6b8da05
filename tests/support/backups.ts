import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownerFile } from "../../src/operations/backups/destination.ts";
import { json, type ServerClient } from "./server.ts";

export const backupsPath = "/admin/v1/backups";

export interface ShownBackup {
  readonly id: string;
  readonly status: "running" | "done" | "failed";
  readonly progress: number;
  readonly size_bytes: number;
  readonly sha256: string | null;
  readonly is_encrypted: boolean;
  readonly error: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}

type AdminServer = Pick<ServerClient, "admin">;

/** Begins a backup; throws unless it was accepted. */
export async function beginBackup(server: AdminServer): Promise<ShownBackup> {
  const answer = await server.admin("POST", backupsPath);
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  return json<ShownBackup>(answer);
}

/** The backup when it has come to its end, whichever: its thread has the lowest priority, also on a busy machine. */
export async function endOfBackup(server: AdminServer, id: string): Promise<ShownBackup> {
  for (const deadline = performance.now() + 50_000; ; await Bun.sleep(10)) {
    const found = await json<ShownBackup>(await server.admin("GET", `${backupsPath}/${id}`));
    if (found.status !== "running") return found;
    if (performance.now() > deadline) throw new Error(`still running: ${JSON.stringify(found)}`);
  }
}

/** Makes a backup; throws unless it is done. */
export async function madeBackup(server: AdminServer): Promise<ShownBackup> {
  const { id } = await beginBackup(server);
  const backup = await endOfBackup(server, id);
  if (backup.status !== "done") throw new Error(JSON.stringify(backup));
  return backup;
}

/** The first page of the list, or the one of a query. */
export async function listedBackups(server: AdminServer, query = "") {
  const answer = await server.admin("GET", backupsPath + query);
  return json<{ data: ShownBackup[]; pagination: { cursor: string; has_more: boolean } }>(answer);
}

/** Downloads a backup into a file and checks that it is the one that was made. */
export async function downloadBackup(server: AdminServer, backup: ShownBackup, file: string): Promise<void> {
  const answer = await server.admin("GET", `${backupsPath}/${backup.id}/content`);
  const bytes = await answer.bytes();
  if (answer.status !== 200 || sha256(bytes) !== backup.sha256) throw new Error(`${file} is another one`);
  await Bun.write(file, bytes);
}

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** The names in `backups/` of a data directory but for those that say whose it is; none where it was not made. */
export function backupFiles(data: string): string[] {
  const directory = join(data, "backups");
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => !name.startsWith(ownerFile))
    .sort();
}

/** Looks into a database that nobody serves, after SQLite has found it to be whole. */
export function inDatabase<T>(file: string, look: (db: Database) => T): T {
  const db = new Database(file, { readonly: true });
  db.run("PRAGMA busy_timeout = 5000");
  try {
    const found = db.query("PRAGMA integrity_check").all();
    if (JSON.stringify(found) !== '[{"integrity_check":"ok"}]') throw new Error(JSON.stringify(found));
    const loose = db.query("PRAGMA foreign_key_check").all();
    if (loose.length > 0) throw new Error(JSON.stringify(loose));
    return look(db);
  } finally {
    db.close();
  }
}

/** Makes the index of usernames not fit its table. */
export function breakIndex(file: string): void {
  const sql = `SELECT (rootpage - 1) * page_size AS start, page_size AS size
               FROM sqlite_schema, pragma_page_size() WHERE name = 'users_username'`;
  const page = inDatabase(file, (db) => db.query<{ start: number; size: number }, []>(sql).get());
  const bytes = readFileSync(file);
  const index = bytes.subarray(page?.start, (page?.start ?? 0) + (page?.size ?? 0));
  index.write("xqcoy", index.indexOf("xqcow"));
  writeFileSync(file, bytes);
}

/** Makes a database larger by so many megabytes, while nobody serves it: a backup of it takes a while. */
export function addBallast(data: string, megabytes: number): void {
  const db = new Database(join(data, "onair.db"));
  // The thread of a server that has just stopped may still be giving back its statements, and with the last the file.
  db.run("PRAGMA busy_timeout = 5000");
  db.run(
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) " +
      "INSERT INTO settings (key, value) SELECT 'ballast ' || i, hex(randomblob(32768)) FROM n",
    [megabytes * 16],
  );
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}
