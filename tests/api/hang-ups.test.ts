import { describe, expect, test } from "bun:test";
import { keptLog } from "../support/log.ts";
import { metric } from "../support/metrics.ts";
import { exchange, RawClient } from "../support/raw-client.ts";
import { adminKey, json, testServer } from "../support/server.ts";
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

/** Sends a request whose body goes on, and hangs up once the server reads it; politely (FIN) or not (RST). */
async function hangUp(
  url: string,
  head: readonly string[],
  body: string,
  how: "end" | "reset",
): Promise<void> {
  const fields = [...head, "Host: localhost", "Expect: 100-continue"];
  const client = new RawClient(url).send(`${fields.join("\r\n")}\r\n\r\n${body}`);
  await until(() => client.text.startsWith("HTTP/1.1 100 "));
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
    await hangUp(server.adminUrl, head, body, how);
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
    await hangUp(server.publicUrl, head, '{"events":', how);
    // Its line, if it has one, comes before that of a later request.
    const later = await server.get("/public/v1/categories");
    await until(async () => (await lineOf(later.headers.get("x-request-id") ?? "")) !== undefined);
    expect(await counted("public", 500)).toBe(0);
    expect([undefined, 499]).toContain((await lineOf(`public-${how}`))?.status);
    expect(await errors()).toEqual([]);
  });
});

describe("a connection that is closed before its request is handled", () => {
  const application = (id: string) => {
    const text = JSON.stringify({ name: id });
    const head = [
      "POST /admin/v1/applications HTTP/1.1",
      `Authorization: Bearer ${adminKey}`,
      `X-Request-Id: ${id}`,
      "Host: localhost",
      "Content-Type: application/json",
      `Content-Length: ${text.length}`,
    ];
    return `${head.join("\r\n")}\r\n\r\n${text}`;
  };

  test.each([
    ["by another request", "two-at-once", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", ""],
    ["by bytes that are no request", "with-an-empty-line", "\r\n", "HTTP/1.1 400 "],
  ])("%s: the request takes no effect, and is counted as 499", async (_, id, behind, answered) => {
    const before = await counted("admin", 499);
    const text = await exchange(server.adminUrl, application(id) + behind);
    expect(text.slice(0, 13)).toBe(answered);
    await until(async () => (await lineOf(id)) !== undefined);
    expect((await lineOf(id)).status).toBe(499);
    expect(await counted("admin", 499)).toBe(before + 1);
    const { data } = await json<{ data: { name: string }[] }>(
      await server.admin("GET", "/admin/v1/applications"),
    );
    expect(data.map(({ name }) => name)).not.toContain(id);
  });
});

test("no hang-up was counted as a failure of the server", async () => {
  expect(await counted("admin", 500)).toBe(0);
});
