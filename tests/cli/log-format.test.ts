import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { textLines } from "../../src/cli/output/log-lines.ts";
import { LogOutput } from "../../src/runtime/log-output.ts";
import type { Style } from "../../src/runtime/terminal.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { ownProcess, program } from "../support/process.ts";
import { adminKey, ownDirectory } from "../support/server.ts";

const plain = (_: Style, text: string) => text;
const shown = (line: object | string, paint: (style: Style, text: string) => string = plain) => {
  const text = typeof line === "string" ? line : JSON.stringify(line);
  return Buffer.from(textLines(paint)(Buffer.from(`${text}\n`))).toString();
};
// Times are shown in this time zone.
const time = new Date(2026, 0, 14, 16, 8, 6, 7).toISOString();
const at = "16:08:06.007";

describe("a line of the log, for people", () => {
  test.each<[string, object | string, string]>([
    [
      "of a request",
      {
        time,
        level: "info",
        event: "request",
        request_id: "01KEYM79QB",
        method: "GET",
        path: "/public/v1/users/maya",
        status: 200,
        duration_ms: 0.254,
        client: "203.0.113.7",
      },
      `${at} info  request  200     0.3 ms  GET /public/v1/users/maya request_id=01KEYM79QB client=203.0.113.7\n`,
    ],
    [
      "of a delivery",
      {
        time,
        level: "info",
        event: "delivery",
        delivery_id: "01KEYM",
        type: "channel.followed",
        attempt: 1,
        outcome: "ok",
        status: 204,
        duration_ms: 12,
        error: null,
        decision: "delivered",
      },
      `${at} info  delivery 204      12 ms  channel.followed delivery_id=01KEYM attempt=1 decision=delivered\n`,
    ],
    [
      "of one that failed",
      {
        time,
        level: "info",
        event: "delivery",
        type: "channel.followed",
        outcome: "timeout",
        status: null,
        duration_ms: 15_000,
        error: "The time limit of 15 s was reached.",
      },
      `${at} info  delivery ---   15000 ms  channel.followed timeout error="The time limit of 15 s was reached."\n`,
    ],
    [
      "of anything else",
      { time, level: "warn", event: "storage_recovered", after: "full", n: 0, empty: "", list: ["a b"] },
      `${at} warn  storage_recovered after=full n=0 empty="" list=["a b"]\n`,
    ],
    [
      "with the settings, which are left out",
      { time, level: "info", event: "starting", settings: { text: "x".repeat(200) } },
      `${at} info  starting settings={…}\n`,
    ],
    [
      "of an error, with its stack below",
      {
        time,
        level: "error",
        event: "internal_error",
        error: "Error: no",
        stack: "Error: no\n    at a (b:1)\n    at c",
      },
      `${at} error internal_error error="Error: no"\n    at a (b:1)\n    at c\n`,
    ],
    ["that is none of ours", "Segmentation fault \x1b[2J", "Segmentation fault  [2J\n"],
    [
      "with control characters",
      {
        time,
        level: "info",
        event: "request",
        method: "GET",
        path: "/\x1b]0;x\x07\x9b2J\u202e",
        status: 404,
        duration_ms: 1,
      },
      `${at} info  request  404     1.0 ms  GET / ]0;x 2J \n`,
    ],
  ])("%s", (_, line, expected) => {
    expect(shown(line)).toBe(expected);
  });

  test("is coloured by level and status if colours are enabled", () => {
    const marked = (line: object) => shown({ time, ...line }, (style, text) => `<${style} ${text}>`);
    expect(marked({ level: "warn", event: "e", a: 1 })).toBe(
      `<dim ${at}> <yellow warn > <bold e> <dim a=>1\n`,
    );
    const answered = (status: number) => ({
      level: "info",
      event: "request",
      method: "GET",
      path: "/",
      status,
    });
    expect(marked({ ...answered(200), duration_ms: 1 })).toContain("<green 200>");
    expect(marked({ ...answered(404), duration_ms: 1 })).toContain("<yellow 404>");
    expect(marked({ ...answered(503), duration_ms: 1 })).toContain("<red 503>");
  });

  test("is written for each line, and for lines that were dropped", async () => {
    let written = "";
    let isFull = true;
    const output = new LogOutput({
      now: () => Date.parse(time),
      render: textLines(plain),
      open: () => ({
        write(lines) {
          if (isFull) throw new Error("ENOSPC");
          written += Buffer.from(lines).toString();
        },
        flush() {},
        end() {},
      }),
    });
    const line = (event: string) => `${JSON.stringify({ time, level: "info", event })}\n`;
    output.write(Buffer.from(line("lost") + line("lost")));
    isFull = false;
    output.write(Buffer.from(line("one") + line("two")));
    expect(written).toBe(`\n${at} warn  log_lines_left_out lines=2\n${at} info  one\n${at} info  two\n`);
    expect(output.linesLeftOut).toBe(2);
  });
});

/** The output of a server that starts and stops on a terminal. */
async function onTerminal(...args: string[]): Promise<string> {
  let text = "";
  const started = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const ports = ["--port", "0", "--admin-port", "0"];
  const child = Bun.spawn([...program, "serve", "--data", ownDirectory(), ...ports, ...args], {
    env: { PATH: process.env["PATH"] ?? "", TERM: "xterm", ONAIR_ADMIN_KEY: adminKey },
    terminal: {
      cols: 400,
      data(_, bytes) {
        text += Buffer.from(bytes).toString();
        if (text.includes("started")) started.resolve();
        if (text.includes("uptime_seconds")) stopped.resolve();
      },
    },
  });
  afterThisTest(() => child.kill("SIGKILL"));
  await started.promise;
  child.kill("SIGTERM");
  await stopped.promise;
  expect(await child.exited).toBe(0);
  return text;
}

const line = /^.*started.*$/m;
const escapeCode = "\x1b[";

describe("the log of onair serve", () => {
  test("is for people on a terminal, in colour", async () => {
    const [started = ""] = line.exec(await onTerminal()) ?? [];
    expect(Bun.stripANSI(started).trim()).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} info {2}started version=\S+(?: commit=\S+)? public=http:\S+ admin=http:\S+$/,
    );
    expect(started).toContain(escapeCode);
  });

  test("is JSON on a terminal if requested", async () => {
    const [started = ""] = line.exec(await onTerminal("--log-format", "json")) ?? [];
    expect(JSON.parse(started)).toMatchObject({ level: "info", event: "started" });
  });

  test("is text in a file if requested, without colour", async () => {
    const file = join(ownDirectory(), "log");
    const env = { ONAIR_LOG_LEVEL: "info" };
    const args = ["--data", ownDirectory(), "--log-file", file, "--log-format", "text"];
    const server = await ownProcess(args, { env });
    expect(await server.end("SIGTERM")).toBe(0);
    const text = await Bun.file(file).text();
    expect(text).toMatch(/ info {2}started version=/);
    expect(text).not.toContain(escapeCode);
  });
});
