import { describe, expect, test } from "bun:test";
import { DomainError } from "../../../src/domain/errors.ts";
import { minute } from "../../../src/domain/time.ts";
import { keptLog } from "../../support/log.ts";
import { Clock, ownServer, testServer } from "../../support/server.ts";

const kept = keptLog();
const behindProxy = keptLog();
const direct = await testServer({ log: kept.log });
const proxied = await testServer({ log: behindProxy.log, args: ["--trusted-proxies", "127.0.0.1"] });

const forwarded = { "x-forwarded-for": "203.0.113.7, 198.51.100.4" };

/** The addresses in the lines of the requests to a path. */
async function clientsOf({ lines }: typeof kept, path: string): Promise<string[]> {
  const told = (await lines()).map((line) => JSON.parse(line));
  return told.filter((line) => line.event === "request" && line.path === path).map(({ client }) => client);
}

describe("the line of a request has the address of its client", () => {
  test("on both listeners, whatever the client says of itself", async () => {
    await direct.get("/public/v1/categories", undefined, { headers: forwarded });
    await direct.get("/nothing/here", undefined, { headers: forwarded });
    await direct.admin("GET", "/admin/v1/applications", undefined, forwarded);
    await direct.admin("HEAD", "/readyz", undefined, forwarded);
    for (const path of ["/public/v1/categories", "/nothing/here", "/admin/v1/applications", "/readyz"])
      expect([path, await clientsOf(kept, path)]).toEqual([path, ["127.0.0.1"]]);
  });

  test("behind a trusted proxy that for which it forwards", async () => {
    await proxied.get("/public/v1/categories", undefined, { headers: forwarded });
    await proxied.admin("GET", "/admin/v1/applications", undefined, forwarded);
    await proxied.admin("GET", "/readyz", undefined, { "x-forwarded-for": '"},{"level":"error' });
    expect(await clientsOf(behindProxy, "/public/v1/categories")).toEqual(["198.51.100.4"]);
    expect(await clientsOf(behindProxy, "/admin/v1/applications")).toEqual(["198.51.100.4"]);
    expect(await clientsOf(behindProxy, "/readyz")).toEqual(["127.0.0.1"]);
  });
});

test("secrets in paths are not logged, and usernames like them are", async () => {
  const secret = "onair_lc_4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL";
  const encoded = secret.replaceAll("_", "%5F");
  for (const path of [`/admin/v1/login-requests/${secret}`, `/admin/v1/login-requests/${encoded}`])
    await direct.admin("GET", path);
  await direct.admin("PUT", `/admin/v1/login-requests/${secret}/accept`, { user_id: 1 });
  await direct.get(`/public/v1/users/${secret.replace("_lc_", "_at_")}`);
  await direct.get("/public/v1/users/onair_at_work");
  const lines = (await kept.lines()).join("\n");
  expect(lines).not.toContain(secret.slice(10));
  const of = (path: string) => clientsOf(kept, path).then(({ length }) => length);
  expect(await of("/admin/v1/login-requests/***")).toBe(2);
  expect(await of("/admin/v1/login-requests/***/accept")).toBe(1);
  expect(await of("/public/v1/users/***")).toBe(1);
  expect(await of("/public/v1/users/onair_at_work")).toBe(1);
});

test("while the database is away a request is logged once a minute for each reason, with the number of others", async () => {
  const clock = new Clock();
  const own = keptLog("error", clock.now);
  const server = await ownServer({ log: own.log, clock });
  const { token } = await server.application();
  const away = (reason: string) => () => Promise.reject(new DomainError("unavailable", reason));
  const asked = async (reason: string, times: number) => {
    Object.assign(server.app.store.users, { find: away(reason) });
    for (let i = 0; i < times; i++)
      expect((await server.get("/public/v1/users/xqcow", token)).status).toBe(503);
  };
  await asked("Away.", 25);
  await asked("Full.", 1);
  clock.advance(minute);
  await asked("Away.", 2);
  const told = (await own.lines()).map((line) => JSON.parse(line));
  expect(told.map(({ error, repeated }) => [error, repeated])).toEqual([
    ["DomainError: Away.", undefined],
    ["DomainError: Full.", undefined],
    ["DomainError: Away.", 25],
    ["DomainError: Away.", 1],
  ]);
  expect(own.log.errors.unavailable).toBe(28);
});

test("a request that fails as unavailable is logged with the reason, without a stack", async () => {
  const users = direct.app.store.users as { find: unknown };
  const { find } = users;
  const { token } = await direct.application();
  const cause = new Error("database or disk is full");
  const full = () => Object.assign(new DomainError("unavailable", "Not now."), { cause });
  users.find = () => Promise.reject(full());
  const headers = { "x-request-id": "full" };
  try {
    expect((await direct.get("/public/v1/users/xqcow", token, { headers })).status).toBe(503);
  } finally {
    users.find = find;
  }
  const lines = (await kept.lines()).map((line) => JSON.parse(line));
  const said = lines.filter(({ event }) => event === "unavailable");
  expect(said).toEqual([
    {
      time: expect.any(String),
      level: "error",
      event: "unavailable",
      request_id: "full",
      error: "DomainError: Not now.",
      cause: "Error: database or disk is full",
    },
  ]);
});
