import { beforeAll, describe, expect, test } from "bun:test";
import { newOperatorKey } from "../../src/domain/operator-keys.ts";
import { minute } from "../../src/domain/time.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { type App, startApp } from "../../src/server/start.ts";
import { keptLog } from "../support/log.ts";
import { documentOf, type OpenApiDocument, operations } from "../support/openapi.ts";
import {
  adminKey,
  Clock,
  isOnPostgres,
  json,
  ownDirectory,
  ownServer,
  startServer,
  type TestServer,
  testServer,
} from "../support/server.ts";

const keys = "/admin/v1/keys";

interface Key {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly source: string;
  readonly prefix: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
}

const ask = (url: string, key: string, path: string, method = "GET", body?: unknown) =>
  fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function created(server: TestServer, fields: object): Promise<Key & { readonly key: string }> {
  const response = await server.admin("POST", keys, fields);
  expect(response.status).toBe(201);
  return json(response);
}

const listOf = async (url: string, key = adminKey) =>
  (await json<{ data: Key[] }>(await ask(url, key, keys))).data;

const clock = new Clock();
const server = await testServer({ clock });
const proxied = await testServer({ clock, args: ["--trusted-proxies", "127.0.0.1"], wrongKeyLimit: 2 });

describe("keys", () => {
  const status = async (key: string, path = keys, method = "GET") =>
    (await ask(server.adminUrl, key, path, method)).status;

  test("are created, shown once, listed without themselves, and revoked at once", async () => {
    const { key, ...record } = await created(server, { name: "nightly import", role: "operator" });
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      name: "nightly import",
      role: "operator",
      source: "created",
      prefix: key.slice(0, 16),
      created_at: "2026-01-14T16:00:00.000Z",
      expires_at: null,
      last_used_at: null,
    } as never);
    expect(key).toMatch(/^onair_admin_[A-Za-z0-9_-]{43}$/);
    const text = await (await server.admin("GET", keys)).text();
    expect(text).toContain("nightly import");
    expect(text).not.toContain(key);
    expect(await status(key)).toBe(200);
    expect((await server.admin("DELETE", `${keys}/${record.id}`)).status).toBe(204);
    expect(await status(key)).toBe(401);
    expect((await server.admin("DELETE", `${keys}/${record.id}`)).status).toBe(404);
  });

  test("expire", async () => {
    const { key, expires_at } = await created(server, { name: "brief", role: "reader", expires_in: 60 });
    expect(expires_at).toBe("2026-01-14T16:01:00.000Z");
    expect(await status(key)).toBe(200);
    clock.advance(minute - 1);
    expect(await status(key)).toBe(200);
    clock.advance(1);
    expect(await status(key)).toBe(401);
  });

  test("show the hour of their last use, also after a restart", async () => {
    const directory = ownDirectory();
    const hourly = new Clock();
    const first = await startServer({ clock: hourly, data: directory });
    const { id, key } = await created(first, { name: "used", role: "reader" });
    hourly.advance(90 * minute);
    await ask(first.adminUrl, key, "/admin/v1/applications");
    await first.stop();
    const second = await ownServer({ clock: hourly, data: directory });
    const found = (await listOf(second.adminUrl)).find((one) => one.id === id);
    expect(found?.last_used_at).toBe("2026-01-14T17:00:00.000Z");
  });

  test("have a name of their own and a known role; a misspelt field makes none", async () => {
    await created(server, { name: "taken", role: "reader" });
    const answers = [
      [{ name: "taken", role: "reader" }, 409],
      [{ name: "x" }, 400],
      [{ name: "x", role: "admin" }, 400],
      [{ name: "", role: "reader" }, 400],
      [{ name: "x", role: "reader", expires: 60 }, 400],
      [{ name: "x", role: "reader", expires_in: 0 }, 400],
    ] as const;
    for (const [body, expected] of answers) {
      expect([body, (await server.admin("POST", keys, body)).status]).toEqual([body, expected]);
    }
    expect((await listOf(server.adminUrl)).filter(({ name }) => name === "x")).toEqual([]);
  });

  test("of the environment is listed, but changed only there", async () => {
    const [first] = await listOf(server.adminUrl);
    expect(first).toMatchObject({ id: "environment", role: "operator", source: "environment", prefix: "" });
    const refused = await server.admin("DELETE", `${keys}/environment`);
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("ONAIR_ADMIN_KEY")]);
  });

  test("are at most a hundred", async () => {
    const many = await ownServer();
    const keysOf = (n: number) =>
      newOperatorKey({ name: `key ${n}`, role: "reader", source: "created", now: Date.now() }).key;
    const made = Array.from({ length: 100 }, (_, n) => many.app.store.operatorKeys.create(keysOf(n)));
    await Promise.all(made);
    const refused = await many.admin("POST", keys, { name: "one more", role: "reader" });
    expect(refused.status).toBe(409);
  });
});

test("the key is that of its own server, also when another runs in the same process", async () => {
  const [server, other] = [
    await ownServer(),
    await ownServer({ env: { ONAIR_ADMIN_KEY: "another-operator-key" } }),
  ];
  const status = async (key: string, { app }: TestServer) =>
    (await ask(app.adminUrl, key, "/admin/v1/applications")).status;
  expect(await status("another-operator-key", other)).toBe(200);
  expect(await status(adminKey, other)).toBe(401);
  expect(await status("another-operator-key", server)).toBe(401);
});

test.skipIf(isOnPostgres)("the last operator key that works cannot be revoked", async () => {
  const server = await ownServer({ env: { ONAIR_ADMIN_KEY: undefined } });
  const { adminUrl } = server;
  const { operatorKeys } = server.app.store;
  const key = await Bun.file(`${server.data}/onair.admin-key`).text();
  const [own] = await listOf(adminUrl, key.trim());
  const remove = (id: string | undefined) => ask(adminUrl, key.trim(), `${keys}/${id}`, "DELETE");
  const refused = await remove(own?.id);
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("last operator key")]);
  const make = async (body: object) =>
    json<Key & { key: string }>(await ask(adminUrl, key.trim(), keys, "POST", body));
  await make({ name: "reader", role: "reader" });
  expect((await remove(own?.id)).status).toBe(409);
  const other = await make({ name: "other", role: "operator" });
  // Two at once do not end both; the second is 401 where its own key has ended before it was checked.
  const both = await Promise.all([remove(own?.id), remove(other.id)]);
  const [ended, kept] = both.map((one) => one.status).sort();
  expect(ended).toBe(204);
  expect([401, 409]).toContain(kept ?? 0);
  expect((await operatorKeys.all()).filter(({ role }) => role === "operator").length).toBe(1);
});

describe("roles", () => {
  let document: OpenApiDocument;
  const secrets: Record<string, string> = {};
  beforeAll(async () => {
    document = await documentOf(server.adminUrl);
    for (const role of ["operator", "publisher", "reader"]) {
      secrets[role] = (await created(server, { name: `a ${role}`, role })).key;
    }
  });

  interface Documented {
    readonly "x-roles": readonly string[];
    readonly operationId: string;
    readonly description: string;
    readonly responses: Readonly<Record<string, unknown>>;
    readonly security: readonly unknown[];
  }
  const all = () =>
    operations(document)
      .map(({ name, operation }) => ({ name, operation: operation as unknown as Documented }))
      .filter(({ operation }) => operation.security.length > 0);

  test("open the operations that the document lists for their role, and no other", async () => {
    for (const { name, operation } of all()) {
      const [method = "", path = ""] = name.split(" ");
      const roles = operation["x-roles"];
      for (const role of ["publisher", "reader", "operator"]) {
        // Ids that do not exist and bodies that are none: whoever is let in changes nothing.
        const address = path.replace("{challenge}", "x").replace(/\{[a-z_]+\}/g, "0");
        const answer = await fetch(server.adminUrl + address, {
          method,
          headers: { authorization: `Bearer ${secrets[role]}`, "content-type": "text/x-none" },
          ...(method === "PUT" || method === "POST" || method === "PATCH" ? { body: "{" } : {}),
        });
        const { code } = (answer.status === 403 ? await answer.json() : {}) as { code?: string };
        const label = `${role}: ${name} ${code ?? ""}`.trim();
        const expected = roles.includes(role) ? `${role}: ${name}` : `${role}: ${name} insufficient_role`;
        expect(label).toBe(expected);
      }
      for (const role of roles) expect(operation.description).toContain(`\`${role}\``);
      expect([name, "403" in operation.responses]).toEqual([name, roles.length < 3]);
    }
  });

  test("a reader has only GET, and no backup's content; a publisher only data and events", () => {
    const data =
      /^\/admin\/v1\/(users|categories|channels|livestreams|ranking|events|event-types|catalogue)(\/(batch|search|preview|\{[a-z_]+\}))?$/;
    for (const { name, operation } of all()) {
      const [method, path = ""] = name.split(" ");
      const { "x-roles": roles } = operation;
      if (roles.includes("reader")) expect([name, method]).toEqual([name, "GET"]);
      if (roles.includes("publisher")) expect(path).toMatch(data);
      expect(roles).toContain("operator");
    }
    const content = all().find(({ operation }) => operation.operationId === "getBackupContent");
    expect(content?.operation["x-roles"]).toEqual(["operator"]);
  });

  test("hold for HEAD as for GET", async () => {
    const status = async (role: string) =>
      (await ask(server.adminUrl, secrets[role] ?? "", "/admin/v1/applications", "HEAD")).status;
    expect([await status("reader"), await status("publisher")]).toEqual([200, 403]);
  });
});

describe("wrong keys", () => {
  async function guessed(url: string, times: number, forwardedFor?: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let n = 0; n < times; n++) {
      const headers = {
        authorization: `Bearer guess-${n}-guess`,
        ...(forwardedFor && { "x-forwarded-for": forwardedFor }),
      };
      statuses.push((await fetch(url + keys, { headers })).status);
    }
    return statuses;
  }

  test("are refused with 429 after twenty in a minute, logged with the address, and lock no right key out", async () => {
    const kept = keptLog("warn");
    const server = await ownServer({ clock, log: kept.log, wrongKeyLimit: 20 });
    const { adminUrl } = server;
    const statuses = await guessed(adminUrl, 30);
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(10).fill(429)]);
    expect((await server.admin("GET", keys)).status).toBe(200);
    const refused = await ask(adminUrl, "guess-again", keys);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3"]);
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    // Without any key nothing is guessed.
    expect((await fetch(adminUrl + keys)).status).toBe(401);
    clock.advance(3_000);
    expect(await guessed(adminUrl, 2)).toEqual([401, 429]);
    const lines = (await kept.lines()).filter((line) => line.includes("wrong_operator_key"));
    expect(lines.length).toBe(21);
    for (const line of lines) {
      expect(line).not.toContain("guess-");
      expect(JSON.parse(line)).toMatchObject({ level: "warn", address: "127.0.0.1" });
    }
  });

  test("are none that were made at another replica a moment ago, which take nothing from the address", async () => {
    const { adminUrl, store } = proxied.app;
    const { secret, key } = newOperatorKey({ name: "Ada", role: "reader", source: "created", now: clock.ms });
    await store.operatorKeys.create(key);
    expect((await ask(adminUrl, secret, keys)).status).toBe(200);
    expect(await guessed(adminUrl, 3)).toEqual([401, 401, 429]);
    // Beyond the limit nothing is looked up.
    const late = newOperatorKey({ name: "Bob", role: "reader", source: "created", now: clock.ms });
    await store.operatorKeys.create(late.key);
    expect((await ask(adminUrl, secret, keys)).status).toBe(200);
    if (!isOnPostgres) expect((await ask(adminUrl, late.secret, keys)).status).toBe(429);
  });

  test("count for the address that a trusted proxy gives, and for no other", async () => {
    expect(await guessed(proxied.adminUrl, 3, "203.0.113.1")).toEqual([401, 401, 429]);
    expect(await guessed(proxied.adminUrl, 3, "203.0.113.2")).toEqual([401, 401, 429]);
  });

  test("are limited without a setting", async () => {
    const directory = ownDirectory();
    const config = readConfig(
      ["--data", directory, "--port", "0", "--admin-port", "0", "--rate-limit", "0"],
      { ONAIR_ADMIN_KEY: adminKey },
    );
    const app: App = await startApp({ config, log: keptLog("off").log });
    expect((await guessed(app.adminUrl, 25)).filter((status) => status === 429).length).toBeGreaterThan(0);
    await app.stop();
  });
});
