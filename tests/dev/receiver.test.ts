import { beforeEach, describe, expect, test } from "bun:test";
import { devLog } from "../../src/dev/log.ts";
import { type DevReceiver, isReceiverUrl, startReceiver } from "../../src/dev/receiver.ts";
import {
  clockTime,
  cut,
  escaped,
  escapedAroundStyles,
  heldBack,
  printable,
  terminalOn,
} from "../../src/dev/terminal.ts";
import { chatMessageSent } from "../../src/domain/events/chat-message-sent.ts";
import { newWebhookSecret, sign } from "../../src/webhooks/signature.ts";
import { afterThisTest } from "../support/after-tests.ts";

const secret = newWebhookSecret();
const inForce = async () => secret;
const now = Date.parse("2026-01-14T16:08:06Z");

function screen(options: { isTTY?: boolean; columns?: number } = {}) {
  const written: string[] = [];
  return { ...options, written, write: (text: string) => written.push(text) };
}

function delivery(body: string, changes: Record<string, string> = {}) {
  const id = "01KEYN2Q9GZ4T7RFDX6M8V3BHC";
  const timestampSeconds = now / 1000;
  const signature = sign({ id, timestampSeconds, body, secrets: [secret] });
  return {
    method: "POST",
    body,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": signature,
      "onair-event-type": "chat.message.sent",
      ...changes,
    },
  };
}

const chat = (content: string) =>
  JSON.stringify({ type: "chat.message.sent", version: 1, data: { ...chatMessageSent.example, content } });

describe("the local receiver", () => {
  let receiver: DevReceiver;
  let output: ReturnType<typeof screen>;
  beforeEach(() => {
    output = screen();
    receiver = startReceiver({ port: 0, secret: inForce, terminal: terminalOn(output, {}), now: () => now });
    afterThisTest(() => receiver.stop());
  });

  test("prints a genuine delivery and answers 204", async () => {
    expect(isReceiverUrl(receiver.url)).toBe(true);
    expect((await fetch(receiver.url, delivery(chat("hello")))).status).toBe(204);
    expect(output.written).toEqual([
      `${clockTime(now)} verified chat.message.sent LunaBytes: ninja_fox said "hello"\n`,
    ]);
  });

  test("prints the attempt number of a repeated delivery", async () => {
    await fetch(receiver.url, delivery(chat("hello"), { "onair-attempt": "2" }));
    expect(output.written[0]).toEndWith('said "hello" (attempt 2)\n');
  });

  test("removes control characters from messages", async () => {
    await fetch(receiver.url, delivery(chat("a\u001b[2Jb\nc\u202ed")));
    expect(output.written[0]).toContain('said "a [2Jb c d"\n');
  });

  test("accepts genuine bodies that it cannot parse", async () => {
    expect((await fetch(receiver.url, delivery("not JSON"))).status).toBe(204);
    expect((await fetch(receiver.url, delivery('{"type":"of.the.operator"}'))).status).toBe(204);
    expect(output.written[1]).toContain("verified of.the.operator");
  });

  test.each([
    ["wrong signature", { "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` }],
    ["a webhook header is missing", { "webhook-id": "" }],
    ["webhook-timestamp is not a number", { "webhook-timestamp": "now" }],
    ["webhook-timestamp is too old", { "webhook-timestamp": String(now / 1000 - 301) }],
    ["webhook-timestamp is in the future", { "webhook-timestamp": String(now / 1000 + 301) }],
  ])("refuses a delivery with 401: %s", async (reason, changes) => {
    const answer = await fetch(receiver.url, delivery(chat("secret words"), changes));
    expect(answer.status).toBe(401);
    expect(output.written).toEqual([`${clockTime(now)} refused  chat.message.sent: ${reason}\n`]);
  });

  test("has one path, accepts only POST, and refuses large bodies", async () => {
    expect((await fetch(new URL("/", receiver.url))).status).toBe(404);
    expect((await fetch(receiver.url)).status).toBe(405);
    expect((await fetch(receiver.url, delivery("x".repeat(1024 * 1024 + 1)))).status).toBe(413);
    expect(output.written).toEqual([]);
  });

  test("listens on its previous port, or on another one if that is in use", async () => {
    const other = startReceiver({
      port: receiver.port,
      secret: inForce,
      terminal: terminalOn(output, {}),
      now: () => now,
    });
    expect(other.port).not.toBe(receiver.port);
    const { port } = other;
    await other.stop();
    const again = startReceiver({ port, secret: inForce, terminal: terminalOn(output, {}), now: () => now });
    expect(again.port).toBe(port);
    await again.stop();
  });
});

describe("a terminal", () => {
  test("has colours only on a TTY without NO_COLOR", () => {
    const tty = { ...screen(), isTTY: true };
    expect(terminalOn(tty, {}).style("red", "x")).toBe("\x1b[31mx\x1b[39m");
    expect(terminalOn(tty, { NO_COLOR: "" }).style("red", "x")).toBe("\x1b[31mx\x1b[39m");
    expect(terminalOn(tty, { NO_COLOR: "1" }).style("red", "x")).toBe("x");
    expect(terminalOn(screen(), {}).style("red", "x")).toBe("x");
  });

  test("gets lines that fit it", () => {
    const tty = screen({ isTTY: true, columns: 8 });
    const terminal = terminalOn(tty, {});
    terminal.line("12345678");
    terminal.line("123456789");
    terminal.line("안녕하세요");
    terminal.line("1안녕하세요");
    terminal.print("123456789\n");
    expect(tty.written).toEqual(["12345678\n", "1234567…\n", "안녕하…\n", "1안녕하…\n", "123456789\n"]);
    expect(Bun.stringWidth(cut(`\x1b[31m${"초".repeat(50)}\x1b[39m`, 80))).toBeLessThanOrEqual(80);
    const pipe = screen({ columns: 8 });
    terminalOn(pipe, {}).line("123456789");
    expect(pipe.written).toEqual(["123456789\n"]);
  });

  test("can be buffered until other output was written", () => {
    const real = screen();
    const held = heldBack(real);
    held.write("second");
    real.write("first");
    held.release();
    held.write("third");
    expect(real.written).toEqual(["first", "second", "third"]);
  });

  test("removes control characters, and no others", () => {
    expect(printable("a\tb\u009bc\u2066d")).toBe("a b c d");
    const [red, line] = ["\x1b[31mred\x1b[39m", "a\u001b[2Jb\u007f\tc\r\nd\u202e\r"];
    expect(escapedAroundStyles(`${red} ${line}`)).toBe(`${red} a\\u001b[2Jb\\u007f\tc\r\nd\\u202e\\u000d`);
    expect(escaped(red)).toBe("\\u001b[31mred\\u001b[39m");
    expect(printable("안녕 مرحبا 👩‍🚀 ñ")).toBe("안녕 مرحبا 👩‍🚀 ñ");
  });
});

describe("the log of a developer", () => {
  const log = (level: "info" | "warn") => {
    const output = screen();
    const terminal = terminalOn(output, {});
    return {
      ...output,
      log: devLog({ terminal, level, now: () => now, isPrinted: (id) => id === "printed" }),
    };
  };

  test("has a short line for each request, and each delivery that the receiver has not printed", () => {
    const { log: it, written } = log("info");
    it.request({
      requestId: "r",
      method: "GET",
      path: "/public/v1/users/a",
      status: 200,
      durationMs: 0.4321,
      client: "127.0.0.1",
      applicationId: null,
      traceId: null,
    });
    const sent = {
      type: "channel.followed",
      outcome: "ok",
      status: 204,
      duration_ms: 3,
      decision: "delivered",
    };
    it.info("delivery", { ...sent, application_id: "OTHER", delivery_id: "another" });
    it.info("delivery", { ...sent, application_id: "DEV", delivery_id: "printed" });
    it.info("delivery", { ...sent, application_id: "DEV", delivery_id: "a third" });
    it.info("delivery", {
      ...sent,
      application_id: "DEV",
      outcome: "status",
      error: "It answered 500.",
      decision: "retry",
    });
    it.info("operator_keys", { environment: true, operator: 1 });
    it.error("service_failed", { service: "x", stack: "Error: no\x1b[2J\n  at y" });
    expect(written.map((line) => line.slice(9))).toEqual([
      "200      GET /public/v1/users/a (0.4 ms)\n",
      "sent     channel.followed to OTHER: 204 (3 ms)\n",
      "sent     channel.followed to DEV: 204 (3 ms)\n",
      "failed   channel.followed to DEV: It answered 500. Next: retry.\n",
      "error    service_failed service=x\n",
      expect.any(String),
    ]);
    expect(written[5]).toBe("Error: no\\u001b[2J\n  at y\n");
  });

  test("is quiet at level warn", () => {
    const { log: it, written } = log("warn");
    it.request({
      requestId: "r",
      method: "GET",
      path: "/",
      status: 200,
      durationMs: 1,
      client: "127.0.0.1",
      applicationId: null,
      traceId: null,
    });
    it.warn("unknown_setting", { name: "ONAIR_PROT", meant: "ONAIR_PORT" });
    expect(written.length).toBe(1);
  });
});
