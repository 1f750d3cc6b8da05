import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate, migrations } from "../../src/store/sqlite/database/migrations.ts";
import { openStore } from "../../src/store/sqlite/store.ts";

/** The path of a migrated, empty database. It is made once, because migrating is a large part of a server's start. */
let database: Uint8Array | null = null;

function made(): Uint8Array {
  const directory = mkdtempSync(join(tmpdir(), "onair-test-"));
  const store = openStore(directory);
  // The file can be read at once: a new database is complete on disk before it is renamed to this name.
  const bytes = readFileSync(join(directory, "onair.db"));
  void store.close().then(() => rmSync(directory, { recursive: true }));
  return bytes;
}

/** Copies it into an empty data directory. */
export function giveTables(directory: string): void {
  if (!existsSync(directory) || readdirSync(directory).length > 0) return;
  database ??= made();
  writeFileSync(join(directory, "onair.db"), database, { mode: 0o600 });
}

/** A database as it was before the migration whose name ends with this suffix: in this file, or in memory. */
export function databaseBefore(step: string, file = ":memory:"): Database {
  const db = new Database(file, { create: true, strict: true });
  const before = migrations.findIndex(({ name }) => name.endsWith(step));
  if (before < 1) throw new Error(`there is no migration ${step}`);
  db.run("PRAGMA journal_mode = WAL");
  migrate(db, migrations.slice(0, before));
  return db;
}
