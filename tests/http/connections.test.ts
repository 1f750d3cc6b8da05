import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ulidPattern } from "../../src/domain/ids.ts";
import { fromSource } from "../support/process.ts";
import { RawClient } from "../support/raw-client.ts";
import { adminKey, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";
import { get } from "../support/wire.ts";

/** How many connections the public listener takes; `tests/wire/crowd.test.ts` and `limits.test.ts` have the rules. */

const ask = get("/public/v1/categories");

/** The value of a line of `/metrics`. */
async function metric(adminUrl: string, line: string): Promise<number | null> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const found = text.split("\n").find((one) => one.startsWith(`${line} `));
  return found === undefined ? null : Number(found.slice(line.length + 1));
}

describe("--connection-limit", () => {
  const limit = 6;
  let server: TestServer;
  let clients: RawClient[];
  beforeAll(async () => {
    server = await startServer({ args: ["--connection-limit", String(limit)] });
    clients = Array.from({ length: 40 }, () => new RawClient(server.app.publicUrl).send(ask));
    for (const client of clients) await client.answers();
  });
  afterAll(async () => {
    for (const client of clients) client.reset();
    await server.stop();
  });

  test("is how many are served; the others are told in the one shape of errors", async () => {
    const answers = await Promise.all(clients.map(async (client) => (await client.answers())[0]));
    expect(answers.filter((answer) => answer?.status === 200)).toHaveLength(limit);
    const refused = answers.filter((answer) => answer?.status === 503);
    expect(refused).toHaveLength(40 - limit);
    for (const answer of refused) {
      const error = JSON.parse(answer?.body ?? "");
      expect(error).toEqual({
        message: "Too many connections are open; try again soon",
        code: "unavailable",
        errors: [],
        request_id: expect.stringMatching(new RegExp(ulidPattern)),
      });
      expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
        connection: "close",
        "retry-after": "5",
        "content-type": "application/json",
        "cache-control": "no-store",
        "access-control-allow-origin": "*",
        "x-request-id": error.request_id,
      });
    }
  });

  test("is told by /metrics, and a connection that was refused is no request", async () => {
    const { adminUrl } = server.app;
    await until(async () => (await metric(adminUrl, "onair_http_connections")) === limit);
    expect(await metric(adminUrl, 'onair_http_connections_refused_total{reason="limit"}')).toBe(40 - limit);
    expect(await metric(adminUrl, 'onair_http_connections_refused_total{reason="client"}')).toBe(0);
    expect(await metric(adminUrl, 'onair_http_connections_cut_total{reason="slow"}')).toBe(0);
    expect(await metric(adminUrl, "onair_http_connection_bytes")).toBe(0);
    expect(await metric(adminUrl, 'onair_http_requests_total{listener="public",status="503"}')).toBeNull();
    expect(await metric(adminUrl, 'onair_http_requests_total{listener="public",status="200"}')).toBe(limit);
  });

  test("leaves the admin listener alone", async () => {
    expect((await fetch(`${server.app.adminUrl}/readyz`)).status).toBe(200);
  });
});

test("/metrics tells how many descriptors are open, and how many may be", async () => {
  const server = await startServer();
  const { adminUrl } = server.app;
  const open = await metric(adminUrl, "process_open_fds");
  const most = await metric(adminUrl, "process_max_fds");
  if (process.platform === "linux") expect(open).toBeGreaterThan(5);
  expect(most).toBeGreaterThan(open ?? 0);
  await server.stop();
});

test.skipIf(process.platform !== "linux")(
  "without descriptors the server goes on, says so, and lets clients in again when there are some",
  async () => {
    const directory = temporaryDirectory();
    const args = [
      "serve",
      "--port",
      "0",
      "--admin-port",
      "0",
      "--data",
      directory.path,
      "--log-level",
      "warn",
    ];
    const command = [...fromSource, ...args].map((word) => `'${word}'`).join(" ");
    const most = 120;
    const child = Bun.spawn(["sh", "-c", `ulimit -n ${most}; exec ${command}`], {
      env: { PATH: process.env["PATH"], ONAIR_ADMIN_KEY: adminKey, ONAIR_RATE_LIMIT: "0" },
      stdout: "pipe",
      stderr: "pipe",
    });
    let log = "";
    void (async () => {
      for await (const bytes of child.stderr) log += new TextDecoder().decode(bytes);
    })();
    const ready = new TextDecoder().decode((await child.stdout.getReader().read()).value);
    const [, url = "", adminUrl = ""] = /public=(\S+) admin=(\S+)/.exec(ready) ?? [];

    const inside = new RawClient(url).send(ask);
    expect((await inside.answers())[0]?.status).toBe(200);
    // What others use, here connections to the admin listener, is beyond the limit of connections.
    const others = Array.from({ length: most }, () => new RawClient(adminUrl));
    await until(() => log.includes("descriptors.exhausted"));
    // Whoever is inside is served, although nobody else can get in.
    for (let i = 2; i < 5; i++) expect((await inside.send(ask).answers(i)).at(-1)?.status).toBe(200);
    for (const one of others) one.reset();
    await until(async () => {
      const next = new RawClient(url).send(ask);
      await until(() => next.isClosed || next.text !== "");
      const isIn = next.text.startsWith("HTTP/1.1 200");
      next.reset();
      return isIn;
    });
    expect((await inside.send(ask).answers(5)).at(-1)?.status).toBe(200);
    inside.reset();
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    const events = log.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
    const lowered = events.find(({ event }) => event === "connection_limit_lowered");
    expect(lowered).toMatchObject({
      asked: 10_000,
      limit: 90,
      descriptors: 120,
    });
    expect(events.find(({ event }) => event === "descriptors.exhausted")).toMatchObject({ level: "warn" });
    directory.remove();
  },
  60_000,
);
