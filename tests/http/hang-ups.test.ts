import { describe, expect, test } from "bun:test";
import { keptLog } from "../support/kept-log.ts";
import { metric } from "../support/metrics.ts";
import { RawClient } from "../support/raw-client.ts";
import { adminKey, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const kept = keptLog();

const server = await testServer({ log: kept.log });
const app = await server.application();

const lines = async () => (await kept.lines()).map((line) => JSON.parse(line));
const lineOf = async (id: string) => (await lines()).find((line) => line.request_id === id && line.status);
const errors = async () => (await lines()).filter(({ level }) => level === "error");

/** How often a listener has answered with a status. */
const counted = async (listener: string, status: number) =>
  (await metric(server, `onair_http_requests_total{listener="${listener}",status="${status}"}`)) || 0;

/** Sends a request whose body goes on, and hangs up; politely (FIN) or not (RST). */
async function hangUp(
  url: string,
  head: readonly string[],
  body: string,
  how: "end" | "reset",
): Promise<void> {
  const client = new RawClient(url).send(`${head.join("\r\n")}\r\nHost: localhost\r\n\r\n${body}`);
  await Bun.sleep(50);
  if (how === "end") client.socket.destroy();
  else client.reset();
}

const users = Array.from({ length: 300 }, (_, i) => JSON.stringify({ id: i + 1, username: `user_${i + 1}` }));
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const ndjson = "Content-Type: application/x-ndjson";

describe.each(["end", "reset"] as const)("a client that hangs up by %s is counted as 499", (how) => {
  test.each<[string, string, readonly string[], string]>([
    ["in a batch of a known length", "users/batch", [ndjson, "Content-Length: 100000"], users.join("\n")],
    ["in a batch in chunks", "users/batch", [ndjson, "Transfer-Encoding: chunked"], chunk(users.join("\n"))],
    ["in an atomic batch", "users/batch?atomic=true", [ndjson, "Content-Length: 100000"], users.join("\n")],
    ["in a batch of events", "events", [ndjson, "Content-Length: 100000"], "{}\n"],
    [
      "in a batch with a key",
      "events",
      [ndjson, "Content-Length: 100000", `Idempotency-Key: key-${how}`],
      "{}\n",
    ],
    ["in one event", "events", ["Content-Type: application/json", "Content-Length: 1000"], '{"name":'],
    [
      "in an application",
      "applications",
      ["Content-Type: application/json", "Transfer-Encoding: chunked"],
      chunk('{"'),
    ],
  ])("%s of the admin API", async (name, path, fields, body) => {
    const id = `${how}-${name.replaceAll(" ", "-")}`;
    const before = await counted("admin", 499);
    const head = [
      `POST /admin/v1/${path} HTTP/1.1`,
      `Authorization: Bearer ${adminKey}`,
      `X-Request-Id: ${id}`,
      ...fields,
    ];
    await hangUp(server.app.adminUrl, head, body, how);
    await until(async () => (await lineOf(id)) !== undefined);
    expect(await lineOf(id)).toMatchObject({ level: "info", event: "request", status: 499 });
    expect(await counted("admin", 499)).toBe(before + 1);
    expect(await errors()).toEqual([]);
  });

  test("on the public listener, nothing fails either", async () => {
    const head = [
      "POST /public/v1/events/subscriptions HTTP/1.1",
      `Authorization: Bearer ${app.token}`,
      `X-Request-Id: public-${how}`,
      "Content-Type: application/json",
      "Content-Length: 1000",
    ];
    await hangUp(server.app.publicUrl, head, '{"events":', how);
    // Its line, if it has one, comes before those of a later request.
    await Bun.sleep(50);
    await server.get("/public/v1/categories");
    expect(await counted("public", 500)).toBe(0);
    expect([undefined, 499]).toContain((await lineOf(`public-${how}`))?.status);
    expect(await errors()).toEqual([]);
  });
});

test("no hang-up was counted as a failure of the server", async () => {
  expect(await counted("admin", 500)).toBe(0);
});
