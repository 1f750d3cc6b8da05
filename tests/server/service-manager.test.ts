import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownProcess } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const directory = testDirectory();
const unit = join(import.meta.dir, "../../ops/onair.service");

/** Receives datagrams like systemd. Bun cannot do that. */
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True: print(s.recv(4096).decode(), flush=True)
`;

const python = Bun.which("python3");
if (python === null) console.warn("\n*** No python3 here: what systemd is told is NOT tested. ***\n");

test.skipIf(python === null)("systemd is notified when the server is ready, alive and stopping", async () => {
  const socket = join(directory, "notify");
  const listening = Bun.spawn([python ?? "", "-c", receiver, socket], { stdout: "pipe" });
  try {
    const heard: string[] = [];
    void (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of listening.stdout)
        heard.push(
          ...decoder
            .decode(bytes)
            .split("\n")
            .filter((line) => line !== ""),
        );
    })();
    await until(() => heard.length > 0);
    const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "150000" };
    const server = await ownProcess(["--data", join(directory, "data")], { env });
    await until(() => heard.filter((word) => word === "WATCHDOG=1").length > 2);
    expect(heard.slice(0, 2)).toEqual(["bound", "READY=1"]);
    expect(await server.end("SIGTERM")).toBe(0);
    await until(() => heard.includes("STOPPING=1"));
  } finally {
    listening.kill();
  }
});

test("a missing socket, or one with too long a name, does not stop the server", async () => {
  for (const socket of [join(directory, "none"), `/${"x".repeat(200)}`]) {
    const log = join(directory, "log");
    const env = { NOTIFY_SOCKET: socket, ONAIR_LOG_LEVEL: "warn" };
    const server = await ownProcess(["--data", join(directory, "other")], { env, log });
    expect(await server.end("SIGTERM")).toBe(0);
    expect(readFileSync(log, "utf8").includes("service_manager_not_told")).toBe(socket.length > 200);
  }
});

const analyze = Bun.which("systemd-analyze");
if (analyze === null) console.warn("\n*** No systemd-analyze here: the unit is NOT checked. ***\n");

test.skipIf(analyze === null)(
  "the unit has only options that systemd knows, and a low exposure level",
  () => {
    const verified = Bun.spawnSync([analyze ?? "", "verify", unit], { stderr: "pipe" });
    // Neither the executable nor its manual is installed here.
    const complaints = verified.stderr.toString().split("\n");
    expect(complaints.filter((line) => line !== "" && !/is not executable|Command 'man/.test(line))).toEqual(
      [],
    );
    const judged = Bun.spawnSync([analyze ?? "", "security", "--offline=true", "--threshold=20", unit]);
    expect(judged.exitCode).toBe(0);
  },
);

test("the unit starts the server with valid options, and its stop timeout is longer than the drain", async () => {
  const text = readFileSync(unit, "utf8");
  const { checkConfig } = await import("../../src/server/settings/read-config.ts");
  const [, words = ""] = /^ExecStart=\/usr\/bin\/onair serve (.*)$/m.exec(text) ?? [];
  const { mistakes } = checkConfig(words.split(" "), {});
  // The file exists only where the unit is installed.
  expect(mistakes).toEqual([
    expect.stringMatching(/^--config names \/etc\/onair\/onair\.toml, which does not exist$/),
  ]);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(30);
});
