import { describe, expect, test } from "bun:test";
import { AuditTrail } from "../../src/api/admin/audit-trail.ts";
import { OperatorKeys } from "../../src/api/admin/operator-keys.ts";
import { adminApp } from "../../src/api/admin.ts";
import { rateLimiter } from "../../src/api/http/access.ts";
import { Traffic } from "../../src/api/http/context.ts";
import { Cursors } from "../../src/api/http/cursors.ts";
import { LoginChallenges } from "../../src/api/http/oauth.ts";
import { Catalogue } from "../../src/domain/events/catalogue.ts";
import { endpointNotices, serverNotices } from "../../src/domain/notices.ts";
import { createLog } from "../../src/runtime/log.ts";
import { loginUrl } from "../support/oauth.ts";
import { lint, type OpenApiDocument, operations } from "../support/openapi.ts";
import { adminKey, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--login-url", loginUrl] });
const document = (await (await fetch(`${server.adminUrl}/openapi.json`)).json()) as OpenApiDocument;

describe("the admin document", () => {
  test("is valid under the recommended rules of Redocly, without a warning", async () => {
    expect(await lint(document)).toEqual([]);
  });

  test("names the address and the key of the listener, and nothing of the public one", () => {
    expect(document.servers).toEqual([{ url: server.adminUrl }]);
    expect(Object.keys(document.components.securitySchemes)).toEqual(["operatorKey"]);
    expect(Object.keys(document.paths).filter((path) => path.startsWith("/public"))).toEqual([]);
    expect(JSON.stringify(document)).not.toContain("RateLimit-");
    expect(JSON.stringify(document)).not.toContain('"x-component":');
  });

  test("has the notices that the notify URL gets", () => {
    expect(Object.keys(document.webhooks)).toEqual([...endpointNotices, ...serverNotices]);
    for (const { post } of Object.values(document.webhooks)) expect(post.parameters).toHaveLength(6);
  });

  test("describes every operation, with a tag that is explained", () => {
    const tags = new Set(document.tags.filter(({ description }) => description).map(({ name }) => name));
    for (const { operation } of operations(document)) {
      expect(operation.description.length).toBeGreaterThan(20);
      expect(operation.tags.every((tag) => tags.has(tag))).toBe(true);
    }
  });

  test("lists the routes of the listener, all of them and no other", () => {
    const { store, data, engine, publisher, backups } = server.app;
    const routes = adminApp({
      store,
      engine,
      data,
      publisher,
      backups,
      catalogue: new Catalogue(),
      cursors: new Cursors("key"),
      challenges: new LoginChallenges("key"),
      log: createLog("off"),
      now: Date.now,
      operatorKeys: new OperatorKeys({ store, now: Date.now }),
      outcomes: { open: async () => new ReadableStream() },
      findings: async () => [],
      facts: {
        settings: [],
        startedAt: 0,
        subscriptionLimit: 1,
        rateLimit: () => null,
        storage: () => null,
        kindSizes: async () => null,
        metrics: null,
      },
      trail: new AuditTrail({ store, log: createLog("off"), now: Date.now }),
      allowPrivateWebhooks: false,
      whyNotReady: async () => null,
      isStopping: () => false,
      limiter: rateLimiter(Date.now),
      traffic: { public: new Traffic(), admin: new Traffic() },
      publicUrl: () => "http://127.0.0.1:8080",
      adminUrl: () => "http://127.0.0.1:8081",
    }).routes;
    const shown = routes.filter(({ hooks }) => hooks.detail?.hide !== true);
    const names = shown.map(({ method, path }) => `${method} ${path.replace(/:([a-z_]+)/g, "{$1}")}`);
    expect(names.length).toBeGreaterThan(25);
    expect(new Set(operations(document).map(({ name }) => name))).toEqual(new Set(names));
    const hidden = routes.filter(
      ({ method, hooks }) => hooks.detail?.hide === true && method !== "ALL" && method !== "HEAD",
    );
    expect([...new Set(hidden.map(({ path }) => path))].sort()).toEqual([
      "/",
      "/console",
      "/console/*",
      "/console/files/:file",
      "/console/session",
      "/console/theme.css",
      "/docs",
      "/docs/:page",
      "/docs/api",
      "/docs/files/:file",
      "/docs/search.json",
      "/docs/theme.css",
      "/metrics",
      "/openapi-3.0.json",
      "/openapi.json",
    ]);
  });
});

test("every admin route but health needs the operator key, before anything else is looked at", async () => {
  for (const { name, operation } of operations(document)) {
    const [method = "", path = ""] = name.split(" ");
    if (operation.security.length === 0) {
      expect(["/healthz", "/readyz"]).toContain(path);
      expect((await fetch(server.adminUrl + path)).status).toBe(200);
      continue;
    }
    const url = server.adminUrl + path.replace(/\{[a-z_]+\}/g, "x");
    for (const authorization of [undefined, "Bearer wrong", `Basic ${adminKey}`, `Bearer ${adminKey}x`]) {
      const headers = { ...(authorization && { authorization }) };
      const body = method === "GET" || method === "DELETE" ? null : "{";
      const answer = await fetch(url, { method, headers, body });
      expect([name, authorization, answer.status]).toEqual([name, authorization, 401]);
      expect(await answer.text()).not.toContain(adminKey);
    }
  }
});

test("errors have the one shape, here too", async () => {
  const unknown = await server.admin("GET", "/admin/v1/nothing");
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: "not_found", errors: [] }]);
  const method = await server.admin("GET", "/admin/v1/events");
  expect([method.status, method.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
});
