import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Migration } from "../../../src/store/applied-migrations.ts";
import { migrate, migrations } from "../../../src/store/sqlite/migrations.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { run, serve } from "../../support/process.ts";
import { ownDirectory } from "../../support/server.ts";
import { canMount, SmallDisk } from "../../support/small-disk.ts";

let directory: string;
beforeEach(() => {
  directory = ownDirectory();
});

describe("the data directory", () => {
  test("is created if missing, for its owner alone", async () => {
    const path = join(directory, "deep", "data");
    await openStore(path).close();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, "onair.db")).mode & 0o777).toBe(0o600);
  });

  test("in use by another server is refused with its pid, and is free again when that was killed", async () => {
    const server = await serve(["--data", directory]);
    const second = await run(["serve", "--data", directory, "--port", "0", "--admin-port", "0"]);
    expect([second.code, second.stdout]).toEqual([1, ""]);
    expect(second.stderr).toContain(`is in use by process ${server.pid}`);
    await server.end("SIGKILL");
    await openStore(directory).close();
  });

  test("that is no directory, holds no database, or is not writable is named with what to do", () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(() => openStore(file)).toThrow(`${file} is not a directory`);
    expect(() => openStore(join(file, "below"))).toThrow("is not a directory");
    mkdirSync(join(directory, "garbage"));
    writeFileSync(join(directory, "garbage", "onair.db"), "not a database at all ".repeat(100));
    expect(() => openStore(join(directory, "garbage"))).toThrow("is not a database of onair");
  });

  test.skipIf(process.getuid?.() === 0)(
    "that is not writable (not for root, who may write everywhere)",
    () => {
      chmodSync(directory, 0o500);
      expect(() => openStore(directory)).toThrow("is not writable");
    },
  );

  test.skipIf(!canMount)(
    "on a file system that is mounted read-only is called that, by the doctor too",
    async () => {
      const disk = SmallDisk.own(16);
      disk.makeReadOnly();
      const { code, stderr } = await run(["serve", "--data", disk.data, "--port", "0", "--admin-port", "0"], {
        killAfterMs: 20_000,
      });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`directory ${disk.data} is mounted read-only. The kernel log`),
      ]);
      const report = await run(["doctor", "--data", disk.data]);
      expect(report.stdout).toContain(`the file system of ${disk.data} is mounted read-only`);
    },
  );

  test.each([
    ["onair.copying", "an interrupted copy"],
    ["onair.restoring", "an interrupted restore"],
    ["onair.db-wal", "a database that is missing"],
  ])("with %s is never taken for a new one: it has a part of %s", (file, what) => {
    const part = join(directory, file);
    writeFileSync(part, "a part");
    expect(() => openStore(directory)).toThrow(`has a part of ${what}`);
    expect(readdirSync(directory)).not.toContain("onair.db");
    expect(readFileSync(part, "utf8")).toBe("a part");
  });

  test("with the empty log of a database that was removed under a server is never taken for a new one", () => {
    writeFileSync(join(directory, "onair.db-wal"), "");
    expect(() => openStore(directory)).toThrow("has a part of a database that is missing: move that back");
    expect(readdirSync(directory)).not.toContain("onair.db");
  });

  test("that cannot be created is named with what to do", () => {
    // Not even root can make a directory there.
    expect(() => openStore("/proc/onair")).toThrow("The data directory /proc/onair is not writable");
  });
});

test("the write-ahead log shrinks after a long read, such as a backup", async () => {
  const store = openStore(directory);
  const logBytes = () => statSync(join(directory, "onair.db-wal")).size;
  const reader = new Database(join(directory, "onair.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM users").get();
  for (let n = 0; n < 90; n++)
    await store.settings.put("large", String(n).repeat(1_000_000 / String(n).length));
  expect(logBytes()).toBeGreaterThan(80e6);
  reader.run("ROLLBACK");
  reader.close();
  for (const value of ["a", "b"]) await store.settings.put("small", value);
  expect(logBytes()).toBeLessThanOrEqual(64 * 1024 * 1024);
  await store.close();
});

test("closing does not wait for an open reader, and loses nothing", async () => {
  const store = openStore(directory);
  await store.settings.put("a", "1");
  const reader = new Database(join(directory, "onair.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM users").get();
  await store.settings.put("b", "2");
  const closing = performance.now();
  await store.close();
  expect(performance.now() - closing).toBeLessThan(4_000);
  reader.close();
  const again = openStore(directory);
  expect([await again.settings.get("a"), await again.settings.get("b")]).toEqual(["1", "2"]);
  await again.close();
});

describe("migrations", () => {
  test("a database of a newer version is refused and not touched", async () => {
    await openStore(directory).close();
    const db = new Database(join(directory, "onair.db"));
    db.run("INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')");
    db.close();
    expect(() => openStore(directory)).toThrow(
      "written by a newer version of onair (its migration 0999_future",
    );
  });

  test("a migration that was applied with another text is refused", () => {
    const db = new Database(":memory:");
    migrate(db);
    const changed = migrations.map(
      (one, i): Migration => (i === 0 ? { ...one, sql: `${one.sql}\n-- changed` } : one),
    );
    expect(() => migrate(db, changed)).toThrow("written by a build of onair with another schema");
  });

  test("a second migration is applied once and keeps the rows", () => {
    const db = new Database(":memory:");
    migrate(db);
    db.run("INSERT INTO tags VALUES (1, 'there')");
    const second = {
      name: "0099_second",
      sql: "ALTER TABLE tags ADD COLUMN motto TEXT NOT NULL DEFAULT 'hello'",
    };
    const names: string[] = [];
    for (let i = 0; i < 2; i++) migrate(db, [...migrations, second], (name) => names.push(name));
    expect(names).toEqual([second.name]);
    expect(db.query("SELECT * FROM tags").values()).toEqual([[1, "there", "hello"]]);
    expect(() => migrate(db)).toThrow("written by a newer version of onair");
  });

  test("all steps are applied or none", () => {
    const db = new Database(":memory:");
    const broken = [
      ...migrations,
      { name: "0099_broken", sql: "CREATE TABLE half (id);--> statement-breakpoint\nNONSENSE" },
    ];
    expect(() => migrate(db, broken)).toThrow();
    expect(db.query("SELECT name FROM sqlite_schema WHERE name IN ('half', 'users')").all()).toEqual([]);
    migrate(db);
    expect(db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
  });

  test("every file of drizzle/sqlite is listed, in order", async () => {
    const files = [
      ...new Bun.Glob("*.sql").scanSync(join(import.meta.dir, "../../../drizzle/sqlite")),
    ].sort();
    expect(migrations.map(({ name }) => `${name}.sql`)).toEqual(files);
  });
});
