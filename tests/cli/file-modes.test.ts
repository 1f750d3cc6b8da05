import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
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

  test("of commands, even if an earlier version created the lock", async () => {
    const server = await serve(["--data", data], { command: open, log });
    await server.end("SIGTERM");
    chmodSync(join(data, "onair.lock"), 0o644);
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
