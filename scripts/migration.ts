/*
 * Makes the start migration of both databases from their schemas: bun run migration
 *
 * Nothing is released, so a change of the schema needs no migration of its own: drizzle/{sqlite,postgres}/0000_start.sql
 * is what drizzle-kit writes for the whole schema, with the amendments of drizzle/*.config.ts, followed by
 * drizzle/*.appended.sql. The same schema gives the same files, so running this resolves a merge conflict in them.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { amendments as ofPostgres } from "../drizzle/postgres.config.ts";
import { amendments as ofSqlite } from "../drizzle/sqlite.config.ts";

const root = join(import.meta.dir, "..");
const kit = join(root, "drizzle", "kit");

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function run(...cmd: string[]): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync({ cmd, cwd: root, stdin: "ignore" });
  if (exitCode !== 0) fail(`${stdout}${stderr}\n${cmd.join(" ")} failed.`);
}

/** Applies amendments to SQL. Ends the program when a pattern matches never, or more than once. */
function amended(sql: string, amendments: readonly (readonly [RegExp, string])[]): string {
  return amendments.reduce((text, [pattern, replacement]) => {
    const matches = [...text.matchAll(new RegExp(pattern, "g"))].length;
    if (matches !== 1) fail(`An amendment has to match once, and matches ${matches} times: ${pattern}`);
    return text.replace(pattern, replacement);
  }, sql);
}

/**
 * Replaces what a file has of the time and of chance, so that the same schema gives the same file, and writes it on one
 * line: only drizzle-kit reads it.
 */
function settle(file: string): void {
  const text = JSON.stringify(JSON.parse(readFileSync(file, "utf8")));
  const id = text.replace(/"id":"[0-9a-f-]{36}"/, '"id":"00000000-0000-4000-8000-000000000001"');
  writeFileSync(file, `${id.replace(/"when":\d+/, '"when":0')}\n`);
}

run("bun", "install", "--frozen-lockfile", "--silent", "--cwd", kit);
for (const [database, amendments] of [
  ["sqlite", ofSqlite],
  ["postgres", ofPostgres],
] as const) {
  const to = join(root, "drizzle", database);
  const start = join(to, "0000_start.sql");
  rmSync(to, { recursive: true, force: true });
  run(
    join(kit, "node_modules", ".bin", "drizzle-kit"),
    ...["generate", "--config", join("drizzle", `${database}.config.ts`), "--name", "start"],
  );
  // A database may have its tables in another schema than "public": search_path decides.
  const written = amended(readFileSync(start, "utf8").replaceAll('"public".', ""), amendments);
  const appended = readFileSync(join(root, "drizzle", `${database}.appended.sql`), "utf8");
  writeFileSync(start, `${written}\n--> statement-breakpoint\n${appended}`);
  settle(join(to, "meta", "0000_snapshot.json"));
  settle(join(to, "meta", "_journal.json"));
  console.log(`Made drizzle/${database}/0000_start.sql and drizzle/${database}/meta from the schema.`);
}
