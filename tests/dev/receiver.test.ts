import { beforeEach, describe, expect, test } from "bun:test";
import { newWebhookSecret, sign } from "../../src/delivery/signature.ts";
import { type DevReceiver, isReceiverUrl, startReceiver } from "../../src/dev/receiver.ts";
import { chatMessageSent } from "../../src/domain/events/built-in.ts";
import { clockTime, terminalOn } from "../../src/runtime/terminal.ts";
import { afterThisTest } from "../support/after-tests.ts";

const secret = newWebhookSecret();
const inForce = async () => secret;
const now = Date.parse("2026-01-14T16:08:06Z");

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
  let written: string[];
  const start = (port: number) => {
    const terminal = terminalOn({ write: (text) => written.push(text) }, {});
    const started = startReceiver({ port, secret: inForce, terminal, now: () => now });
    afterThisTest(() => started.stop());
    return started;
  };
  beforeEach(() => {
    written = [];
    receiver = start(0);
  });

  test("prints a genuine delivery and answers 204", async () => {
    expect(isReceiverUrl(receiver.url)).toBe(true);
    expect((await fetch(receiver.url, delivery(chat("hello")))).status).toBe(204);
    expect(written).toEqual([
      `${clockTime(now)} verified chat.message.sent LunaBytes: ninja_fox said "hello"\n`,
    ]);
  });

  test("prints the attempt number of a repeated delivery", async () => {
    await fetch(receiver.url, delivery(chat("hello"), { "onair-attempt": "2" }));
    expect(written[0]).toEndWith('said "hello" (attempt 2)\n');
  });

  test("removes control characters from messages", async () => {
    await fetch(receiver.url, delivery(chat("a\u001b[2Jb\nc\u202ed")));
    expect(written[0]).toContain('said "a [2Jb c d"\n');
  });

  test("accepts genuine bodies that it cannot parse", async () => {
    expect((await fetch(receiver.url, delivery("not JSON"))).status).toBe(204);
    expect((await fetch(receiver.url, delivery('{"type":"of.the.operator"}'))).status).toBe(204);
    expect(written[1]).toContain("verified of.the.operator");
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
    expect(written).toEqual([`${clockTime(now)} refused  chat.message.sent: ${reason}\n`]);
  });

  test("has one path, accepts only POST, and refuses large bodies", async () => {
    expect((await fetch(new URL("/", receiver.url))).status).toBe(404);
    expect((await fetch(receiver.url)).status).toBe(405);
    expect((await fetch(receiver.url, delivery("x".repeat(1024 * 1024 + 1)))).status).toBe(413);
    expect(written).toEqual([]);
  });

  test("listens on its previous port, or on another one if that is in use", async () => {
    const other = start(receiver.port);
    expect(other.port).not.toBe(receiver.port);
    const { port } = other;
    await other.stop();
    expect(start(port).port).toBe(port);
  });
});
