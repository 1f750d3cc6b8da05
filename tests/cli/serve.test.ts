import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, ownProcess, program, RunningCommand, run } from "../support/process.ts";
import { adminKey, ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

let directory: string;
beforeEach(() => {
  directory = ownDirectory();
});

const inDirectory = (name: string) => join(directory, name);
const logFile = () => inDirectory("log");

const start = (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  ownProcess(["--data", inDirectory("data"), "--log-level", "info", ...args], {
    env,
    log: inDirectory("stderr"),
  });

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}
const linesOf = (file: string): Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const has = (file: string, event: string) => linesOf(file).some((line) => line.event === event);

test("the log reports the start with the effective settings, an exposed admin listener, and the stop", async () => {
  const proxy = "http://user:proxy-password@127.0.0.1:3128";
  const jwt = ["--jwt-issuer", "platform", "--jwt-audience", "api"];
  const served = await start(["--rate-limit", "77", "--admin-host", "0.0.0.0", ...jwt], {
    ONAIR_WEBHOOK_PROXY: proxy,
    ONAIR_JWKS_URL: "http://127.0.0.1:9/keys?secret=in-the-query",
  });
  const { publicUrl, adminUrl } = served;
  expect(await served.end("SIGTERM")).toBe(0);
  const lines = linesOf(inDirectory("stderr"));
  expect(lines.map(({ event }) => event)).toEqual([
    "starting",
    "admin_listener_exposed",
    "operator_keys",
    "started",
    "stopping",
    "stopped",
  ]);
  const { version, commit } = JSON.parse((await run(["version", "--json"], { command: program })).stdout);
  const [starting, _, keys, started, stopping, stopped] = lines;
  expect(starting).toMatchObject({
    level: "info",
    version,
    ...(commit && { commit }),
    pid: expect.any(Number),
    settings: {
      data: inDirectory("data"),
      port: 0,
      "rate-limit": 77,
      "admin-key": "set",
      "webhook-proxy": "http://***@127.0.0.1:3128/",
      "jwks-url": "http://127.0.0.1:9/keys?***",
      "log-file": null,
    },
  });
  expect(keys).toMatchObject({ environment: true, operator: 1, publisher: 0, reader: 0 });
  expect(started).toMatchObject({ public: publicUrl, admin: adminUrl });
  expect(stopping).toMatchObject({ signal: "SIGTERM", drain_delay: 0 });
  expect(stopped).toMatchObject({ uptime_seconds: expect.any(Number) });
  for (const secret of [adminKey, "proxy-password", "in-the-query"])
    expect(JSON.stringify(lines)).not.toContain(secret);
});

test("a start with too few descriptors is refused, and says what to raise", async () => {
  const command = ["sh", "-c", 'ulimit -n 48 && exec "$@"', "sh", ...program];
  const failed = await run(["serve", "--data", inDirectory("data"), "--port", "0", "--admin-port", "0"], {
    command,
  });
  expectFailure(failed, 1, "at least 64 open files and connections, and may have only 48: raise the limit");
});

describe("--log-file", () => {
  test("receives the log, and is opened again after SIGHUP", async () => {
    const served = await start(["--log-file", logFile()]);
    const { adminUrl } = served;
    const ask = (id: string) => fetch(`${adminUrl}/healthz`, { headers: { "x-request-id": id } });
    const hasRequest = (file: string, id: string) => linesOf(file).some((line) => line["request_id"] === id);
    await ask("before");
    await until(() => hasRequest(logFile(), "before"));
    expect(statSync(logFile()).mode & 0o777 & ~0o040).toBe(0o600);
    expect(readFileSync(inDirectory("stderr"), "utf8")).toBe("");

    renameSync(logFile(), inDirectory("log.1"));
    await ask("between");
    await until(() => hasRequest(inDirectory("log.1"), "between"));
    served.kill("SIGHUP");
    await until(
      () => statSync(logFile(), { throwIfNoEntry: false }) !== undefined && has(logFile(), "log_reopened"),
    );
    await ask("after");
    expect(await served.end("SIGTERM")).toBe(0);
    expect([hasRequest(logFile(), "after"), hasRequest(inDirectory("log.1"), "after")]).toEqual([
      true,
      false,
    ]);
    expect(linesOf(logFile()).at(-1)?.event).toBe("stopped");
  });

  test("that cannot be opened is reported in one line, and so is a start that fails", async () => {
    const ports = ["--data", inDirectory("data"), "--port", "0", "--admin-port", "0"];
    const wrong = await run(["serve", ...ports, "--log-file", join(directory, "none", "log")]);
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toMatch(/^onair: The log file [^\n]+ cannot be opened \(ENOENT\)[^\n]+\n$/);
    await start();
    expectFailure(await run(["serve", ...ports, "--log-file", logFile()]), 1, "is in use by process");
    expect(linesOf(logFile()).map(({ event }) => event)).toEqual(["starting", "start_failed"]);
  });
});

describe("signals", () => {
  test("SIGHUP applies changed limits of the file, a mistake in it changes nothing; SIGUSR1 and SIGUSR2 are ignored", async () => {
    const file = inDirectory("onair.toml");
    writeFileSync(file, "rate-limit = 100\nstream-limit = 5\n");
    const served = await start(["--config", file]);
    const { publicUrl } = served;
    const limit = async () =>
      (await fetch(`${publicUrl}/public/v1/categories`)).headers.get("ratelimit-limit");
    const lines = () => linesOf(inDirectory("stderr"));
    const logged = (name: string) => lines().filter(({ event }) => event === name);
    expect(await limit()).toBe("100");
    writeFileSync(file, "rate-limit = 200\nkeep-backups = 9\n");
    served.kill("SIGHUP");
    await until(() => logged("settings_need_restart").length === 1);
    expect(logged("settings_read_again")).toMatchObject([{ changed: ["rate-limit", "stream-limit"] }]);
    expect(logged("settings_need_restart")).toMatchObject([{ names: ["keep-backups"] }]);
    expect(await limit()).toBe("200");
    writeFileSync(file, "rate-limit = 300\n\nrate-limt = 4\n");
    served.kill("SIGHUP");
    await until(() => logged("settings_not_taken").length === 1);
    expect(JSON.stringify(logged("settings_not_taken"))).toContain("onair.toml:3 rate-limt is not a setting");
    served.kill("SIGUSR1");
    served.kill("SIGUSR2");
    await until(() => logged("signal_ignored").length === 2);
    expect(
      logged("signal_ignored")
        .map(({ signal }) => signal)
        .sort(),
    ).toEqual(["SIGUSR1", "SIGUSR2"]);
    expect(await limit()).toBe("200");
    // It listens on loopback alone.
    expect(logged("admin_listener_exposed")).toEqual([]);
    expect(await served.end("SIGINT")).toBe(0);
  });

  test("a second SIGTERM stops the server at once", async () => {
    const served = await start(["--drain-delay", "60"]);
    const { adminUrl } = served;
    served.kill("SIGTERM");
    await until(async () => (await fetch(`${adminUrl}/readyz`)).status === 503);
    // Signals within half a second are one stop.
    await Bun.sleep(600);
    expect(await served.end("SIGTERM")).toBe(1);
  });

  test("after SIGTERM the server is not ready, and serves until the drain delay is over, on connections that end", async () => {
    const served = await start(["--drain-delay", "1"]);
    const { publicUrl, adminUrl } = served;
    const ready = (query = "") => fetch(`${adminUrl}/readyz${query}`);
    const served200 = async () => {
      const answers = [await fetch(`${adminUrl}/healthz`), await fetch(`${publicUrl}/public/v1/categories`)];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      return answers.map(({ headers }) => headers.get("connection"));
    };
    expect((await ready("?stopping=404")).status).toBe(200);
    expect((await ready("?stopping=405")).status).toBe(400);
    expect(await served200()).not.toContain("close");
    served.kill("SIGTERM");
    const startedAt = performance.now();
    await until(async () => (await ready()).status === 503);
    for (const [query, status, code] of [
      ["", 503, "unavailable"],
      ["?stopping=503", 503, "unavailable"],
      ["?stopping=404", 404, "not_found"],
    ] as const) {
      const answer = await ready(query);
      expect([query, answer.status]).toEqual([query, status]);
      expect(await answer.json()).toMatchObject({ code, message: "The server is stopping" });
    }
    expect(await served200()).toEqual(["close", "close"]);
    await until(() =>
      fetch(`${publicUrl}/public/v1/categories`).then(
        () => false,
        () => true,
      ),
    );
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(await served.end("SIGCONT")).toBe(0);
  });

  test("onair dev ends when its terminal closes, and not by SIGUSR1 or SIGUSR2", async () => {
    const args = ["dev", "--data", inDirectory("dev"), "--port", "0", "--admin-port", "0", "--json"];
    const dev = new RunningCommand(args, { cwd: directory });
    const { admin_url } = JSON.parse(await dev.line()) as { admin_url: string };
    dev.kill("SIGUSR1");
    dev.kill("SIGUSR2");
    expect((await fetch(`${admin_url}/healthz`)).status).toBe(200);
    expect(await dev.end("SIGHUP")).toBe(0);
  });
});
