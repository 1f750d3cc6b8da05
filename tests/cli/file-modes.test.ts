import { beforeEach, describe, expect, test } from "bun:test";
import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { backupFiles } from "../support/backups.ts";
import { program, run, serve } from "../support/process.ts";
import { RunningCommand } from "../support/running-command.ts";
import { ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

let data: string;
let log: string;
beforeEach(() => {
  const directory = ownDirectory();
  data = join(directory, "data");
  log = join(directory, "log");
});

/** The files below a directory that grant any permission to group or others, with their modes. */
function openFiles(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile() && (statSync(file).mode & 0o777) !== 0o600)
    .map((file) => `${file} ${(statSync(file).mode & 0o777).toString(8)}`);
}

describe("only the owner has permissions on the files of a data directory", () => {
  const open = ["sh", "-c", 'umask 0; exec "$@"', "sh", "env", "-u", "ONAIR_ADMIN_KEY", ...program];

  test("of a server, with its backups", async () => {
    const server = await serve(["--data", data], { command: open, log });
    const key = readFileSync(join(data, "onair.admin-key"), "utf8").trim();
    const headers = { authorization: `Bearer ${key}` };
    await fetch(`${server.adminUrl}/admin/v1/backups`, { method: "POST", headers });
    await until(() => backupFiles(data).some((one) => one.endsWith(".db")));
    expect(readdirSync(data).sort()).toContain("onair.lock");
    expect(openFiles(data)).toEqual([]);
    await server.end("SIGTERM");
    expect(openFiles(data)).toEqual([]);
  });

  test("of commands", async () => {
    const server = await serve(["--data", data], { command: open, log });
    await server.end("SIGTERM");
    await run(["admin-key", "list", "--data", data], { command: open });
    expect(openFiles(data)).toEqual([]);
  });

  test("of onair dev", async () => {
    const args = ["dev", "--json", "--data", data, "--port", "0", "--admin-port", "0"];
    const dev = new RunningCommand(args, { command: open });
    await dev.line();
    expect(readdirSync(data)).toContain(".gitignore");
    expect(openFiles(data)).toEqual([]);
    await dev.end("SIGTERM");
  });
});

describe.skipIf(process.getuid?.() !== 0)(
  "files that commands of root create belong to the owner of the directory",
  () => {
    const owner = 65_534;
    const ownersOf = (path: string) =>
      readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => [
        name.replace(/[0-9A-Z]{26}\..*/, "BACKUP"),
        statSync(join(path, name)).uid,
      ]);

    beforeEach(() => {
      mkdirSync(data, { mode: 0o700 });
      chownSync(data, owner, owner);
    });

    test("by backup and restore", async () => {
      expect((await run(["import", "users", "/dev/null", "--data", data])).code).toBe(0);
      expect((await run(["backup", "--data", data])).code).toBe(0);
      const [name = ""] = backupFiles(data);
      const files = ["onair.db", "onair.lock", "onair.pid"].map((file) => [file, owner]);
      const backups = [
        ["backups", owner],
        ["backups/BACKUP", owner],
        ["backups/onair-data-id", owner],
      ];
      const owners = ownersOf(data).sort();
      // The backup may leave the log of the database.
      expect(owners.filter(([file]) => !/-(wal|shm)$/.test(String(file)))).toEqual([...backups, ...files]);
      expect(owners.every(([, of]) => of === owner)).toBe(true);

      const restored = `${data}-restored`;
      mkdirSync(restored);
      chownSync(restored, owner, owner);
      expect((await run(["restore", join(data, "backups", name), "--data", restored])).code).toBe(0);
      expect(ownersOf(restored).sort()).toEqual(files);
    });

    test("but not links and files of the operator", async () => {
      const mine = `${data}-mine`;
      writeFileSync(mine, "");
      linkSync(mine, join(data, "onair.hard-link"));
      symlinkSync(mine, join(data, "onair.link"));
      writeFileSync(join(data, "notes.txt"), "");
      expect((await run(["import", "users", "/dev/null", "--data", data])).code).toBe(0);
      expect(
        ownersOf(data)
          .filter(([, uid]) => uid === 0)
          .map(([name]) => name)
          .sort(),
      ).toEqual(["notes.txt", "onair.hard-link", "onair.link"]);
    });

    test("and a new directory stays root's", async () => {
      expect((await run(["import", "users", "/dev/null", "--data", `${data}-new`])).code).toBe(0);
      expect(new Set(ownersOf(`${data}-new`).map(([, uid]) => uid))).toEqual(new Set([0]));
    });
  },
);
