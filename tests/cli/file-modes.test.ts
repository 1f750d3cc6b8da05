import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { backupFiles } from "../support/backups.ts";
import { program, RunningCommand, run, serve } from "../support/process.ts";
import { giveTables, ownDirectory, testDirectory } from "../support/server.ts";
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

  test("of a server with its backups, and of commands", async () => {
    const server = await serve(["--data", data], { command: open, log });
    const key = readFileSync(join(data, "onair.admin-key"), "utf8").trim();
    const headers = { authorization: `Bearer ${key}` };
    await fetch(`${server.adminUrl}/admin/v1/backups`, { method: "POST", headers });
    await until(() => backupFiles(data).some((one) => one.endsWith(".db")));
    expect(readdirSync(data).sort()).toContain("onair.lock");
    expect(openFiles(data)).toEqual([]);
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

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  console.warn("\n*** This is not root: commands of root in another user's directory are NOT tested. ***\n");

describe.skipIf(!isRoot)("a command of root runs as the owner of the data directory", () => {
  const owner = 65_534;
  // Not in this process, which has to stay root's.
  const onair = (...args: string[]) => run(args, { command: program });
  const ownersOf = (path: string) =>
    readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => [
      name.replace(/[0-9A-Z]{26}\..*/, "BACKUP"),
      lstatSync(join(path, name)).uid,
    ]);
  const owned = (path: string) => {
    mkdirSync(path, { mode: 0o700 });
    chownSync(path, owner, owner);
    return path;
  };
  const files = ["onair.db", "onair.lock", "onair.pid"].map((file) => [file, owner]);
  /** A file that only root can open. */
  const rootsFile = () => {
    const path = `${data}-roots-file`;
    writeFileSync(path, "root's", { mode: 0o600 });
    return path;
  };

  beforeEach(() => {
    chmodSync(dirname(data), 0o755);
    owned(data);
  });

  test("backup and restore leave the files to the owner", async () => {
    expect((await onair("import", "users", "/dev/null", "--data", data)).code).toBe(0);
    expect((await onair("backup", "--data", data)).code).toBe(0);
    const [name = ""] = backupFiles(data);
    const backups = [
      ["backups", owner],
      ["backups/BACKUP", owner],
      ["backups/onair-data-id", owner],
    ];
    expect(ownersOf(data).sort()).toEqual([...backups, ...files]);

    // A backup that only root can read, into a directory that does not exist yet.
    const roots = `${data}-backups`;
    mkdirSync(roots, { mode: 0o700 });
    copyFileSync(join(data, "backups", name), join(roots, name));
    for (const [at, source] of [[join(roots, name)], ["--from", roots]].entries()) {
      const restored = join(owned(`${data}-${at}`), "restored");
      expect(await onair("restore", ...source, "--data", restored)).toMatchObject({ code: 0 });
      expect(ownersOf(restored).sort()).toEqual(files);
    }
  });

  test("an import reads a file of root's, and a backup to where only root may write says why it fails", async () => {
    const users = rootsFile();
    writeFileSync(users, '{"id": 1, "username": "maya"}\n');
    expect(await onair("import", "users", users, "--data", data)).toMatchObject({ code: 0 });
    expect((await onair("export", "users", "--data", data)).stdout).toContain("maya");
    const target = `${data}-backups`;
    mkdirSync(target, { mode: 0o700 });
    expect(await onair("backup", join(target, "onair.db"), "--data", data)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`this command ran as user ${owner}, who owns that directory`),
    });
    expect(readdirSync(target)).toEqual([]);
  });

  // The database of a closed data directory that every user can read.
  const elsewhere = testDirectory();
  const backup = join(elsewhere, "onair.db");
  giveTables(elsewhere);
  chmodSync(elsewhere, 0o755);
  chmodSync(backup, 0o644);

  test.each(["onair.pid", "onair.lock", "onair.admin-key", "onair.db", "onair.restoring", "backups"])(
    "a link at %s leads nowhere",
    async (name) => {
      const before = { text: "root's", mode: 0o600, uid: 0, all: ["file"] };
      const directory = `${data}-roots`;
      mkdirSync(directory, { mode: 0o755 });
      const target = join(directory, "file");
      writeFileSync(target, before.text, { mode: before.mode });
      symlinkSync(name === "backups" ? directory : target, join(data, name));
      for (const args of [
        ["import", "users", "/dev/null", "--data", data],
        ["backup", "--data", data],
        // It makes a backup, too, and itself.
        ...(name === "onair.db" || name === "backups" ? [["migrate", "--data", data]] : []),
        ["doctor", "--data", data],
        ["restore", backup, "--data", data],
        ["copy", "--from", dirname(backup), "--to", data],
      ])
        await onair(...args);
      const server = Bun.spawn([...program, "serve", "--data", data, "--port", "0", "--admin-port", "0"], {
        env: { PATH: process.env["PATH"] },
        stdout: "ignore",
        stderr: "pipe",
      });
      const reader = server.stderr.getReader();
      let said = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        said += new TextDecoder().decode(part.value);
        if (said.includes('"operator_keys"')) break;
      }
      server.kill();
      await server.exited;
      const { mode, uid } = statSync(target);
      const text = readFileSync(target, "utf8");
      expect({ text, mode: mode & 0o777, uid, all: readdirSync(directory) }).toEqual(before);
      const ofRoot = ownersOf(data).filter(([path, uid]) => uid === 0 && !`${path}`.startsWith(name));
      expect(ofRoot).toEqual([]);
    },
  );

  test("doctor judges as the owner", async () => {
    expect((await onair("import", "users", "/dev/null", "--data", data)).code).toBe(0);
    for (const name of ["onair.db", "onair.lock"]) chownSync(join(data, name), 0, 0);
    const { stdout } = await onair("doctor", "--data", data);
    expect(stdout).toMatch(/^WRONG +integrity .*onair\.lock may not be read/m);
    expect(stdout).toContain("no server uses the directory");
  });

  test("a new directory in one of root's stays root's", async () => {
    expect((await onair("import", "users", "/dev/null", "--data", `${data}-new`)).code).toBe(0);
    expect(new Set(ownersOf(`${data}-new`).map(([, uid]) => uid))).toEqual(new Set([0]));
  });
});
