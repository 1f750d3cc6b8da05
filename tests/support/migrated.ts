import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
