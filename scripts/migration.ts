/*
 * Makes migrations of both databases from their schemas.
 *
 *     bun run migration NAME     once tests/released keeps what a release promised
 *     bun run migration          before that
 *
 * Before the first release a change of the schema needs no migration of its own: drizzle/{sqlite,postgres}/0000_start.sql
 * is what drizzle-kit writes for the whole schema, with the amendments of drizzle/*.config.ts, followed by
 * drizzle/*.appended.sql. The same schema gives the same files, so running this resolves a merge conflict in them.
 *
 * A released migration never changes, so after it drizzle-kit writes NNNN_NAME.sql with the difference from the last one.
 * Triggers and what else drizzle cannot express are added there by hand, and the file is listed in
 * src/store/sqlite/migrations.ts or src/postgres/migrations.ts. A NAME that ends in .additive promises that older builds
 * can go on with the database. tests/released compares released migrations.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

const [name, ...others] = process.argv.slice(2);
// Not by tags: a clone may lack them.
const isReleased =
  new Bun.Glob("*/migrations.json").scanSync(join(root, "tests/released")).next().done !== true;
if (others.length > 0 || (name !== undefined && !/^[a-z][a-z0-9_]*(?:\.additive)?$/.test(name)))
  fail("Usage: bun run migration [NAME], a name like clips_of_channels");
if (isReleased && name === undefined)
  fail("A migration after the first release needs a name: bun run migration NAME");
if (!isReleased && name !== undefined)
  fail("Before the first release there is one migration: bun run migration");

/** Runs drizzle-kit for a database. */
function generate(database: "sqlite" | "postgres", name: string): void {
  const config = join("drizzle", `${database}.config.ts`);
  run(join(kit, "node_modules", ".bin", "drizzle-kit"), "generate", "--config", config, "--name", name);
}

run("bun", "install", "--frozen-lockfile", "--silent", "--cwd", kit);
for (const [database, amendments] of [
  ["sqlite", ofSqlite],
  ["postgres", ofPostgres],
] as const) {
  const to = join(root, "drizzle", database);
  const start = join(to, "0000_start.sql");
  if (name !== undefined) {
    const known = new Set(readdirSync(to));
    generate(database, name);
    for (const file of readdirSync(to).filter((file) => !known.has(file))) {
      const path = join(to, file);
      writeFileSync(path, readFileSync(path, "utf8").replaceAll('"public".', ""));
      console.log(`Made drizzle/${database}/${file}: read it, and list it among the migrations.`);
    }
    continue;
  }
  rmSync(to, { recursive: true, force: true });
  generate(database, "start");
  // A database may have its tables in another schema than "public": search_path decides.
  const written = amended(readFileSync(start, "utf8").replaceAll('"public".', ""), amendments);
  const appended = readFileSync(join(root, "drizzle", `${database}.appended.sql`), "utf8");
  writeFileSync(start, `${written}\n--> statement-breakpoint\n${appended}`);
  settle(join(to, "meta", "0000_snapshot.json"));
  settle(join(to, "meta", "_journal.json"));
  console.log(`Made drizzle/${database}/0000_start.sql and drizzle/${database}/meta from the schema.`);
}
