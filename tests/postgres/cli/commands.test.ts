import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { administer, bareDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";
import { expectFailure, ownProcess, printedJson, run, serve } from "../../support/process.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { ownDirectory } from "../../support/server.ts";

const quiet = ["--port", "0", "--admin-port", "0"];

describe.skipIf(!hasPostgres)("commands on PostgreSQL", () => {
  let database: TestDatabase;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await bareDatabase();
    env = { ONAIR_DATABASE: database.url };
  });
  afterAll(() => database.drop());

  const databaseOf = () => new URL(database.url).pathname.slice(1);

  test("commands require a migrated database, and change nothing without one", async () => {
    const { code, stderr } = await run(["apps", "list"], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`There is no data in the database`)]);
    const doctor = await run(["doctor", ...quiet], { env });
    expect(doctor.stdout).toContain("is empty");
  });

  test("migrate lists pending migrations, applies them, and then has none", async () => {
    const dry = await run(["migrate", "--dry-run"], { env });
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining("Nothing was changed")]);
    const done = await run(["migrate", "--json"], { env });
    expect(JSON.parse(done.stdout)).toMatchObject({ dry_run: false, from: null });
    const again = await run(["migrate"], { env });
    expect(again.stdout).toContain("has the schema of onair");
    const backup = await run(["migrate", "--backup", "x"], { env });
    expect([backup.code, backup.stderr]).toEqual([
      2,
      expect.stringContaining("--backup is for a data directory"),
    ]);
  });

  test("a server given the URL in a file serves imported data, and shows no password", async () => {
    const directory = ownDirectory();
    const [users, url, log] = ["users", "url", "log"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(users, '{"id":1,"username":"ada"}\n');
    writeFileSync(url, `${database.url}\n`);
    const imported = await run(["import", "users", users], { env });
    expect([imported.code, imported.stderr]).toEqual([0, expect.any(String)]);
    const server = await serve([], { env: { ONAIR_DATABASE_FILE: url, ONAIR_LOG_LEVEL: "info" }, log });
    try {
      const { token } = await server.application({ name: "Bot" });
      const found = await server.get("/public/v1/users/ADA", token);
      expect(await found.json()).toMatchObject({ user: { id: 1, username: "ada" } });
      expect((await server.admin("POST", "/admin/v1/backups")).status).toBe(409);
    } finally {
      expect(await server.end("SIGTERM")).toBe(0);
    }
    const said = await Bun.file(log).text();
    expect(said).toContain('"database"');
    expect(said).not.toContain(`:${new URL(database.url).password}@`);
  });

  test("a running server knows of an application that a command changes in its database", async () => {
    const [former, next] = [ownReceiver(), ownReceiver()];
    const both = { env: { ...env, ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" } };
    const server = await ownProcess([], both);
    const app = await server.application({ name: "Changed", webhook_url: former.url });
    await subscribe(server, app, ["channel.followed"], 1);
    const followed = event("channel.followed", { broadcaster_user_id: 1 });
    await former.next(() => publish(server, followed));
    expect((await run(["apps", "change", app.id, "--webhook-url", next.url], both)).code).toBe(0);
    await next.next(() => publish(server, followed));
    expect(former.received).toHaveLength(1);
    expect((await server.admin("DELETE", `/admin/v1/applications/${app.id}`)).status).toBe(204);
  });

  test("commands work with and without a running server", async () => {
    expect(await printedJson<object>(["apps", "list"], { env })).toMatchObject({ data: [{ name: "Bot" }] });
    const exported = await run(["export", "users"], { env });
    expect(exported.stdout).toContain('"username":"ada"');
    const doctor = await run(["doctor", ...quiet], { env });
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringContaining(databaseOf())]);
    expect(await printedJson<object>(["admin-key", "reset"], { env })).toMatchObject({ role: "operator" });
    const backup = await run(["backup"], { env });
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining("makes its own backups")]);
    const restore = await run(["restore", "x"], { env });
    expect([restore.code, restore.stderr]).toEqual([2, expect.stringContaining("makes its own backups")]);
  });

  test("an older server is refused, with exit code 2, and nothing is changed", async () => {
    const old = await bareDatabase();
    try {
      // Shadows PostgreSQL's own function, and answers like version 14.
      await administer(old.url, "CREATE SCHEMA older");
      await administer(
        old.url,
        `CREATE FUNCTION older.current_setting(name text) RETURNS text LANGUAGE sql AS $$
           SELECT CASE name WHEN 'server_version' THEN '14.19' WHEN 'server_version_num' THEN '140019'
             ELSE pg_catalog.current_setting(name) END $$`,
      );
      const name = new URL(old.url).pathname.slice(1);
      await administer(old.url, `ALTER DATABASE ${name} SET search_path = older, pg_catalog, public`);
      for (const command of [["serve", ...quiet], ["migrate"]]) {
        const refused = await run(command, { env: { ONAIR_DATABASE: old.url } });
        expectFailure(refused, 2, "The server is PostgreSQL 14.19; onair needs 15 or newer.");
      }
      await administer(old.url, `ALTER DATABASE ${name} RESET search_path`);
      const { stdout } = await run(["doctor", ...quiet], { env: { ONAIR_DATABASE: old.url } });
      expect(stdout).toContain("is empty");
    } finally {
      await old.drop();
    }
  });

  test("a database of another program is refused, with exit code 2", async () => {
    const other = await bareDatabase("ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    try {
      const { code, stderr } = await run(["serve", ...quiet], { env: { ONAIR_DATABASE: other.url } });
      expect([code, stderr]).toEqual([2, expect.stringContaining("onair needs UTF8")]);
    } finally {
      await other.drop();
    }
  });

  test("an unreachable server is reported in one sentence", async () => {
    const url = Object.assign(new URL(database.url), { port: "1" }).href;
    const { code, stderr } = await run(["serve", ...quiet], { env: { ONAIR_DATABASE: url } });
    expect([code, stderr]).toEqual([1, expect.stringContaining("cannot be reached")]);
  });
});
