import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "../../src/runtime/log.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { startApp } from "../../src/server/start.ts";
import {
  expectFailure,
  onTerminal,
  ownProcess,
  printedJson,
  program,
  RunningCommand,
  run,
  type ServerProcess,
  serve,
} from "../support/process.ts";
import { adminKey, ownDirectory, ownServer } from "../support/server.ts";

let directory: string;
let data: string;
let log: string;
let keyPath: string;
beforeEach(() => {
  directory = ownDirectory();
  data = join(directory, "data");
  log = join(directory, "log");
  keyPath = join(data, "onair.admin-key");
});

const env = (key?: string) => ({
  ONAIR_LOG_LEVEL: "info",
  ...(key !== undefined && { ONAIR_ADMIN_KEY: key }),
});

/** A server without the default key of tests, or with another one. */
async function started(key?: string): Promise<ServerProcess> {
  const command = ["env", "-u", "ONAIR_ADMIN_KEY", ...Object.entries(env(key)).map((pair) => pair.join("="))];
  return ownProcess(["--data", data], { command: [...command, ...program], log });
}

const statusOf = async (server: { adminUrl: string }, key: string) =>
  (await fetch(`${server.adminUrl}/admin/v1/keys`, { headers: { authorization: `Bearer ${key}` } })).status;

const keyOf = () => readFileSync(keyPath, "utf8").trim();
const logged = () => readFileSync(log, "utf8");
const event = (name: string) =>
  logged()
    .split("\n")
    .filter((line) => line.includes(`"event":"${name}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the key of the first start", () => {
  test("without a terminal, is written to a file that only its owner can read, and never to the log", async () => {
    const server = await started();
    const key = keyOf();
    expect(key).toMatch(/^onair_admin_[A-Za-z0-9_-]{43}$/);
    expect(statSync(keyPath).mode & 0o777).toBe(0o600);
    expect(await statusOf(server, key)).toBe(200);
    await server.end("SIGTERM");
    expect(event("operator_key_generated")).toMatchObject([{ level: "warn", path: keyPath }]);
    expect(logged()).not.toContain(key.slice(0, 20));
    expect(readFileSync(join(data, "onair.db"), "latin1")).not.toContain(key);
  });

  test.skipIf(Bun.which("script") === null)("is printed on a terminal, and nowhere else", async () => {
    const line = `${program.join(" ")} serve --data ${data} --port 0 --admin-port 0 2>${log}`;
    const serving = new RunningCommand([], { command: onTerminal(line), env: { SHELL: "/bin/sh" } });
    await serving.shows("onair ready");
    process.kill(Number(readFileSync(join(data, "onair.pid"), "utf8")), "SIGTERM");
    const { stdout: shown } = await serving.ended();
    const key = /Operator key, shown only this once: (onair_admin_\S+)/.exec(shown)?.[1] ?? "";
    expect(existsSync(keyPath)).toBe(false);
    expect(logged()).not.toContain("onair_admin_");
    const server = await started();
    expect(await statusOf(server, key)).toBe(200);
    await server.end("SIGTERM");
  });

  test("that was never shown is replaced at the next start, and is refused until then", async () => {
    const config = readConfig(["--data", data, "--port", "0", "--admin-port", "0"], {});
    const start = (showAdminKey: (key: string) => Promise<void>) =>
      startApp({ config, log: createLog("off"), showAdminKey });
    let lost = "";
    const ended = start(async (key) => {
      lost = key;
      throw new Error("the terminal is gone");
    });
    expect(ended).rejects.toThrow("the terminal is gone");
    await ended.catch(() => {});
    let shown = "";
    const app = await start(async (key) => {
      shown = key;
    });
    expect(shown).not.toBe(lost);
    expect([await statusOf(app, lost), await statusOf(app, shown)]).toEqual([401, 200]);
    await app.stop();
    // A third start shows no key.
    const third = await start(async () => {
      throw new Error("shown twice");
    });
    expect(await statusOf(third, shown)).toBe(200);
    await third.stop();
  });
});

describe("a key in ONAIR_ADMIN_KEY", () => {
  test("permanently replaces the generated one; a start without it logs which keys are valid; reset makes a new one", async () => {
    const first = await started();
    const generated = keyOf();
    await first.end("SIGTERM");
    const second = await started("key-of-the-variable");
    const create = ["admin-key", "create", "--name", "r", "--role", "reader", "--url", second.adminUrl];
    const statuses = async (server: ServerProcess, ...keys: string[]) =>
      Promise.all(["key-of-the-variable", generated, ...keys].map((key) => statusOf(server, key)));
    expect(await statuses(second)).toEqual([200, 401]);
    const { key: reader } = await printedJson<{ key: string }>(create, { env: env("key-of-the-variable") });
    expectFailure(await run(["admin-key", "reset", "--data", data]), 1, "is in use by");
    await second.end("SIGTERM");
    expect(event("operator_key_generated")).toEqual([]);
    expect(event("operator_keys")).toMatchObject([{ environment: true, operator: 1 }]);

    const third = await started();
    expect(await statuses(third, reader)).toEqual([401, 401, 200]);
    await third.end("SIGTERM");
    expect(event("operator_keys")).toMatchObject([{ environment: false, operator: 0 }]);
    expect(event("no_operator_key")).toMatchObject([
      {
        level: "warn",
        reason: "ONAIR_ADMIN_KEY is no longer set, and no other key was created",
        advice: expect.stringContaining("onair admin-key reset --data DIR"),
      },
    ]);

    const reset = ["admin-key", "reset", "--data", data];
    const { key: lost } = await printedJson<{ key: string }>(reset);
    const { key, ended } = await printedJson<{ key: string; ended: number }>(reset);
    expect(ended).toBe(1);
    const fourth = await started();
    expect(await statuses(fourth, reader, lost, key)).toEqual([401, 401, 200, 401, 200]);
    await fourth.end("SIGTERM");
    expect(event("operator_keys")).toMatchObject([{ environment: false, operator: 1 }]);
  });

  test("may be in a file, for the server and for commands", async () => {
    const file = join(directory, "secret");
    writeFileSync(file, "operator-key-of-the-file\n");
    const server = await serve(["--data", data], {
      command: ["env", "-u", "ONAIR_ADMIN_KEY", `ONAIR_ADMIN_KEY_FILE=${file}`, ...program],
      log,
    });
    expect(await statusOf(server, "operator-key-of-the-file")).toBe(200);
    const list = ["list", "--url", server.adminUrl];
    const listed = await run(["admin-key", ...list], { env: { ONAIR_ADMIN_KEY_FILE: file } });
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining("ONAIR_ADMIN_KEY")]);
    const mistakes = [
      [{ ONAIR_ADMIN_KEY_FILE: file, ONAIR_ADMIN_KEY: "x" }, "exclude each other"],
      [{ ONAIR_ADMIN_KEY_FILE: join(directory, "none") }, "which does not exist"],
    ] as const;
    for (const [variables, message] of mistakes) {
      expectFailure(await run(["admin-key", ...list], { env: variables }), 2, message);
      expect(() => readConfig([], variables)).toThrow(message);
    }
    for (const key of ["…", "two\nlines"])
      expectFailure(
        await run(["admin-key", ...list], { env: { ONAIR_ADMIN_KEY: key } }),
        2,
        "The operator key in ONAIR_ADMIN_KEY has invalid characters: check that it was copied correctly",
      );
    await server.end("SIGTERM");
  });
});

test.each(["at a running server", "in a data directory"])(
  "onair admin-key lists, creates and revokes, %s",
  async (way) => {
    const server = await ownServer({ data });
    if (way === "in a data directory") await server.stop();
    const target = way === "in a data directory" ? ["--data", data] : ["--url", server.adminUrl];
    const onair = (...args: string[]) =>
      run(["admin-key", ...args, ...target], { env: { ONAIR_ADMIN_KEY: adminKey } });
    const made = await onair("create", "--name", "ci", "--role", "publisher", "--expires-in", "60");
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const key = /^key +(onair_admin_\S+)$/m.exec(made.stdout)?.[1] ?? "";
    expect(key).not.toBe("");
    const json = await onair("create", "--name", "ops", "--role", "operator", "--json");
    const { id } = JSON.parse(json.stdout) as { id: string };
    const listed = await onair("list");
    expect(listed.stdout).toMatch(/publisher +onair_admin_\S{4}… .* ci$/m);
    expect(listed.stdout).not.toContain(key);
    expectFailure(await onair("create", "--name", "ci", "--role", "reader"), 1, "a key with this name");
    // With a key in the server's environment, the last stored one may be revoked. A directory has no such key.
    const revoked = await onair("revoke", id);
    const isLast = way === "in a data directory";
    expect([revoked.code, revoked.stderr.includes("last operator key")]).toEqual([isLast ? 1 : 0, isLast]);
  },
);

test.each<[string[], string]>([
  [[], "The action must be one of list, create, revoke, reset"],
  [["create"], "--name is missing"],
  [["create", "--name", "x"], "--role is missing: operator, publisher or reader"],
  [["create", "--name", "x", "--role", "reader", "--expires-in", "soon"], "--expires-in must be a duration"],
  [["revoke"], "The id of the key is missing"],
  [["list", "--role", "reader"], "--role is not for list, but for create"],
  [["list", "more"], '"more" is not expected here'],
  [["reset", "--url", "http://127.0.0.1:9"], "name it with --data"],
  [["reset", "--data", "/none"], "There is no data in /none"],
])("wrong usage: %j", async (args, message) => {
  expectFailure(await run(["admin-key", ...args]), 2, message);
});
