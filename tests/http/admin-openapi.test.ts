import { describe, expect, test } from "bun:test";
import { builtInEventTypes, Catalogue } from "../../src/domain/events/catalogue.ts";
import { endpointNotices, serverNotices } from "../../src/domain/operations/notices.ts";
import { adminApp } from "../../src/http/admin/app.ts";
import { AuditTrail } from "../../src/http/admin/operations/audit-trail.ts";
import { OperatorKeys } from "../../src/http/admin/operator-keys.ts";
import { Cursors } from "../../src/http/cursors.ts";
import { Traffic } from "../../src/http/traffic.ts";
import { createLog } from "../../src/log/log.ts";
import { backupsPath, madeBackup } from "../support/backups.ts";
import { authorizationRequest, Browser, challengeFor, loginUrl, redirectUri } from "../support/oauth.ts";
import {
  find,
  lint,
  type MediaType,
  type OpenApiDocument,
  operations,
  response,
} from "../support/openapi.ts";
import { publish, event as sample, settled, subscribe } from "../support/publishing.ts";
import { adminKey, isOnPostgres, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--login-url", loginUrl] });
const document = (await (await fetch(`${server.app.adminUrl}/openapi.json`)).json()) as OpenApiDocument;

describe("the admin document", () => {
  test("is valid under the recommended rules of Redocly, without a warning", async () => {
    expect(await lint(document)).toEqual([]);
  });

  test("says where the listener is and what opens it, and nothing of the public one", () => {
    expect(document.servers).toEqual([{ url: server.app.adminUrl }]);
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
      log: createLog("off"),
      now: Date.now,
      operatorKeys: new OperatorKeys({ store, now: Date.now }),
      outcomes: { open: () => new ReadableStream() },
      findings: async () => [],
      facts: {
        settings: [],
        startedAt: 0,
        subscriptionLimit: 1,
        rateLimit: () => null,
        storage: () => null,
        kindSizes: async () => null,
        watched: null,
      },
      trail: new AuditTrail({ store, log: createLog("off"), now: Date.now }),
      allowPrivateWebhooks: false,
      whyNotReady: async () => null,
      publicTraffic: new Traffic(),
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
      expect.stringMatching(/^\/docs\/scalar-[0-9.]+\.js$/),
      "/metrics",
      "/openapi.json",
    ]);
  });

  test("has a page that refers to this document and to nothing elsewhere", async () => {
    const answer = await fetch(`${server.app.adminUrl}/docs`);
    const html = await answer.text();
    expect(answer.headers.get("content-security-policy")).toContain(
      `connect-src 'self' ${server.app.adminUrl}`,
    );
    expect(html).toContain("<title>On Air Admin API</title>");
    expect(JSON.parse(/data-configuration='([^']*)'/.exec(html)?.[1] ?? "")).toMatchObject({
      url: "/openapi.json",
      authentication: { preferredSecurityScheme: "operatorKey" },
    });
    const script = /<script src="([^"]*)"/.exec(html)?.[1] ?? "";
    expect((await fetch(server.app.adminUrl + script)).status).toBe(200);
  });
});

test("every admin route but health needs the operator key, before anything else is looked at", async () => {
  for (const { name, operation } of operations(document)) {
    const [method = "", path = ""] = name.split(" ");
    if (operation.security.length === 0) {
      expect(["/healthz", "/readyz"]).toContain(path);
      expect((await fetch(server.app.adminUrl + path)).status).toBe(200);
      continue;
    }
    const url = server.app.adminUrl + path.replace(/\{[a-z_]+\}/g, "x");
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

/** Of an application to which something was sent. */
async function deliveryCalls(): Promise<Call[]> {
  await server.load("users", [{ id: 77, username: "mona" }]);
  const application = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  await subscribe(server, application, ["kicks.gifted"], 77);
  await publish(server, { ...sample("kicks.gifted"), broadcaster_user_id: 77 });
  await settled(server);
  const list = await server.admin("GET", "/admin/v1/deliveries");
  const delivery = ((await list.json()) as { data: { id: string }[] }).data[0]?.id;
  const range = { from: "2026-01-14T16:00:00Z", to: "2026-01-14T17:00:00Z" };
  const asked = { application_id: application.id, ...range };
  const made = await server.admin("POST", "/admin/v1/replays", asked);
  const { id: replay } = (await made.json()) as { id: string };
  const { id: unreachable } = await server.application();
  const [deliveries, replays, enable] = [
    "/admin/v1/deliveries",
    "/admin/v1/replays",
    "POST /admin/v1/applications/{id}/endpoint/enable",
  ];
  return [
    [`GET ${deliveries}`, 200, `${deliveries}?application_id=${application.id}`],
    [`GET ${deliveries}`, 200, deliveries],
    [`GET ${deliveries}`, 400, `${deliveries}?application_id=x`],
    [`GET ${deliveries}`, 400, `${deliveries}?cursor=x`],
    [`GET ${deliveries}/hold`, 200, `${deliveries}/hold`],
    [`DELETE ${deliveries}/hold`, 204, `${deliveries}/hold`],
    [`GET ${deliveries}/{id}`, 200, `${deliveries}/${delivery}`],
    [`GET ${deliveries}/{id}`, 404, `${deliveries}/x`],
    [`POST ${deliveries}/{id}/retry`, 202, `${deliveries}/${delivery}/retry`],
    [`POST ${deliveries}/{id}/retry`, 404, `${deliveries}/x/retry`],
    [`POST ${replays}`, 202, replays, { ...asked, dry_run: true }],
    [`POST ${replays}`, 400, replays, range],
    [`POST ${replays}`, 409, replays, { ...asked, application_id: unreachable }],
    [`GET ${replays}`, 200, replays],
    [`GET ${replays}/{id}`, 200, `${replays}/${replay}`],
    [`GET ${replays}/{id}`, 404, `${replays}/x`],
    [`DELETE ${replays}/{id}`, 204, `${replays}/${replay}`],
    ["GET /admin/v1/endpoints", 200, "/admin/v1/endpoints"],
    ["GET /admin/v1/endpoints", 400, "/admin/v1/endpoints?cursor=x"],
    ["GET /admin/v1/outcomes", 200, "/admin/v1/outcomes"],
    ["GET /admin/v1/outcomes", 400, "/admin/v1/outcomes?application_id=x"],
    ["GET /admin/v1/statistics", 200, "/admin/v1/statistics"],
    ["GET /admin/v1/statistics", 200, `/admin/v1/statistics?range=week&application_id=${application.id}`],
    ["GET /admin/v1/statistics", 400, "/admin/v1/statistics?range=year"],
    ["GET /admin/v1/storage", 200, "/admin/v1/storage"],
    ["GET /admin/v1/settings", 200, "/admin/v1/settings"],
    ["GET /admin/v1/subscriptions", 200, `/admin/v1/subscriptions?application_id=${application.id}`],
    ["GET /admin/v1/subscriptions", 400, "/admin/v1/subscriptions?cursor=x&broadcaster_user_id=0"],
    ["GET /admin/v1/applications/{id}/usage", 200, `/admin/v1/applications/${application.id}/usage`],
    ["GET /admin/v1/applications/{id}/usage", 404, "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/usage"],
    ["GET /admin/v1/audit", 200, "/admin/v1/audit"],
    ["GET /admin/v1/audit", 400, "/admin/v1/audit?after=yesterday"],
    ["GET /admin/v1/notices", 200, "/admin/v1/notices"],
    ["GET /admin/v1/notices", 400, "/admin/v1/notices?application_id=x"],
    ["GET /admin/v1/notices", 400, "/admin/v1/notices?cursor=x"],
    ["GET /admin/v1/applications/{id}/endpoint", 200, `/admin/v1/applications/${application.id}/endpoint`],
    [
      "GET /admin/v1/applications/{id}/endpoint",
      404,
      "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/endpoint",
    ],
    [enable, 200, `/admin/v1/applications/${application.id}/endpoint/enable`],
    [enable, 404, "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/endpoint/enable"],
  ];
}

/** Of a backup that is done; a second one runs meanwhile. */
async function backupCalls(): Promise<Call[]> {
  const { id, size_bytes } = await madeBackup((method, path) => server.admin(method, path));
  const [one, content] = [`GET ${backupsPath}/{id}`, `GET ${backupsPath}/{id}/content`];
  const path = `${backupsPath}/${id}`;
  return [
    [`POST ${backupsPath}`, 202, backupsPath],
    [`POST ${backupsPath}`, 409, backupsPath],
    [`GET ${backupsPath}`, 200, backupsPath],
    [`GET ${backupsPath}`, 400, `${backupsPath}?cursor=x`],
    [one, 200, path],
    [one, 404, `${backupsPath}/x`],
    [content, 200, `${path}/content`],
    [content, 206, `${path}/content`, undefined, { range: "bytes=0-15" }],
    [content, 416, `${path}/content`, undefined, { range: `bytes=${size_bytes}-` }],
    [content, 404, `${backupsPath}/x/content`],
    [`DELETE ${backupsPath}/{id}`, 204, path],
    [`DELETE ${backupsPath}/{id}`, 404, path],
  ];
}

/** `GET /path 200`, the address, and what is sent; the first call of each operation comes before those that need it. */
type Call = readonly [
  operation: string,
  status: number,
  address: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
];

async function calls(): Promise<Call[]> {
  const { id } = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  const { id: doomed } = await server.application();
  const { client_id } = await server.application({ redirect_uris: [redirectUri] });
  const login = async (rest = "") => {
    const challenge = await challengeFor(new Browser(server), authorizationRequest(client_id));
    return `/admin/v1/login-requests/${challenge}${rest}`;
  };
  const loginOf = (rest = "") => `/admin/v1/login-requests/{challenge}${rest}`;
  const [accepted, rejected] = [await login("/accept"), await login("/reject")];
  const app = (rest = "") => `/admin/v1/applications/${id}${rest}`;
  const none = "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H";
  const of = (rest = "") => `/admin/v1/applications/{id}${rest}`;
  const data = builtInEventTypes.find(({ name }) => name === "channel.followed")?.example;
  const event = { name: "channel.followed", version: 1, broadcaster_user_id: 7, data };
  const raffle = { version: 1, schema: { type: "object" }, example: { winner: "maya" } };
  const type = "/admin/v1/event-types/raffle.won";
  const keys = "/admin/v1/keys";
  const made = await server.admin("POST", keys, { name: "reports", role: "reader" });
  const { id: key } = (await made.json()) as { id: string };
  return [
    ["PUT /admin/v1/event-types/{name}", 200, type, raffle],
    ["PUT /admin/v1/event-types/{name}", 400, type, { ...raffle, schema: {} }],
    ["PUT /admin/v1/event-types/{name}", 409, type, { ...raffle, schema: { type: "object", title: "x" } }],
    ["GET /admin/v1/event-types", 200, "/admin/v1/event-types"],
    ["DELETE /admin/v1/event-types/{name}", 400, type],
    ["DELETE /admin/v1/event-types/{name}", 404, `${type}?version=2`],
    ["DELETE /admin/v1/event-types/{name}", 409, "/admin/v1/event-types/channel.followed?version=1"],
    ["DELETE /admin/v1/event-types/{name}", 204, `${type}?version=1`],
    ["PUT /admin/v1/users/{id}", 200, "/admin/v1/users/7", { username: "maya" }],
    ["PUT /admin/v1/users/{id}", 400, "/admin/v1/users/7", {}],
    ["PUT /admin/v1/users/{id}", 409, "/admin/v1/users/8", { username: "maya" }],
    ["GET /admin/v1/users/{id}", 200, "/admin/v1/users/7"],
    ["GET /admin/v1/users/{id}", 404, "/admin/v1/users/8"],
    ["GET /admin/v1/users/search", 200, "/admin/v1/users/search?query=may"],
    ["GET /admin/v1/users/search", 400, "/admin/v1/users/search?query=m"],
    ["GET /admin/v1/users/{id}/consents", 200, "/admin/v1/users/7/consents"],
    ["GET /admin/v1/users/{id}/consents", 404, "/admin/v1/users/8/consents"],
    [`GET ${loginOf()}`, 200, await login("?user_id=7")],
    [`GET ${loginOf()}`, 404, "/admin/v1/login-requests/x"],
    [`PUT ${loginOf("/accept")}`, 400, accepted, {}],
    [`PUT ${loginOf("/accept")}`, 200, accepted, { user_id: 7 }],
    [`PUT ${loginOf("/accept")}`, 409, accepted, { user_id: 7 }],
    [`PUT ${loginOf("/reject")}`, 200, rejected, {}],
    [`DELETE /admin/v1/users/{id}/consents/{application_id}`, 204, `/admin/v1/users/7/consents/${id}`],
    ["POST /admin/v1/users/batch", 200, "/admin/v1/users/batch", '{"id":9,"username":"nine"}\n{'],
    ["POST /admin/v1/users/batch", 400, "/admin/v1/users/batch?atomic=x", "{}"],
    ["GET /admin/v1/users/batch", 200, "/admin/v1/users/batch"],
    [
      "PUT /admin/v1/categories/{id}",
      200,
      "/admin/v1/categories/3",
      { name: "Chess", slug: "chess", tags: ["Calm"] },
    ],
    ["GET /admin/v1/categories/{id}", 200, "/admin/v1/categories/3"],
    ["GET /admin/v1/categories/{id}", 404, "/admin/v1/categories/4"],
    ["POST /admin/v1/categories/batch", 200, "/admin/v1/categories/batch", "{}"],
    ["GET /admin/v1/categories/batch", 200, "/admin/v1/categories/batch"],
    ["PUT /admin/v1/channels/{id}", 200, "/admin/v1/channels/70", { user_id: 7, slug: "maya" }],
    ["GET /admin/v1/channels/{id}", 200, "/admin/v1/channels/70"],
    ["GET /admin/v1/channels/{id}", 404, "/admin/v1/channels/71"],
    ["GET /admin/v1/ranking", 200, "/admin/v1/ranking"],
    ["GET /admin/v1/ranking/{id}", 200, "/admin/v1/ranking/3"],
    ["GET /admin/v1/ranking/{id}", 404, "/admin/v1/ranking/4"],
    ["GET /admin/v1/catalogue", 200, "/admin/v1/catalogue"],
    ["POST /admin/v1/channels/batch", 200, "/admin/v1/channels/batch", ""],
    ["GET /admin/v1/channels/batch", 200, "/admin/v1/channels/batch"],
    [
      "PUT /admin/v1/livestreams",
      200,
      "/admin/v1/livestreams",
      '{"channel_id":70,"category_id":3,"viewers":5}',
    ],
    ["GET /admin/v1/livestreams", 200, "/admin/v1/livestreams"],
    ["POST /admin/v1/events", 202, "/admin/v1/events", event],
    ["POST /admin/v1/events", 202, "/admin/v1/events", `${JSON.stringify(event)}\n{`],
    ["POST /admin/v1/events", 202, "/admin/v1/events", { ...event, id: "known" }],
    ["POST /admin/v1/events", 409, "/admin/v1/events", { ...event, id: "known", broadcaster_user_id: 9 }],
    ["POST /admin/v1/applications", 201, "/admin/v1/applications", { name: "Bot" }],
    ["POST /admin/v1/applications", 400, "/admin/v1/applications", {}],
    ["GET /admin/v1/applications", 200, "/admin/v1/applications?limit=1"],
    ["GET /admin/v1/applications", 400, "/admin/v1/applications?cursor=x"],
    ["GET /admin/v1/applications/{id}", 200, app()],
    ["GET /admin/v1/applications/{id}", 404, none],
    ["PATCH /admin/v1/applications/{id}", 200, app(), { disabled: false }],
    [`POST ${of("/client-secret")}`, 200, app("/client-secret"), {}],
    [`POST ${of("/webhook-secret")}`, 200, app("/webhook-secret"), { overlap_seconds: 0 }],
    [`POST ${of("/tokens")}`, 201, app("/tokens"), {}],
    [`GET ${of("/tokens")}`, 200, app("/tokens")],
    [`DELETE ${of("/tokens")}`, 200, app("/tokens")],
    ["DELETE /admin/v1/applications/{id}", 204, `/admin/v1/applications/${doomed}`],
    ["DELETE /admin/v1/livestreams/{channel_id}", 204, "/admin/v1/livestreams/70"],
    ["DELETE /admin/v1/channels/{id}", 204, "/admin/v1/channels/70"],
    ["DELETE /admin/v1/categories/{id}", 204, "/admin/v1/categories/3"],
    ["DELETE /admin/v1/users/{id}", 204, "/admin/v1/users/7"],
    ["POST /admin/v1/keys", 201, keys, { name: "import", role: "publisher" }],
    ["POST /admin/v1/keys", 400, keys, { name: "import" }],
    ["POST /admin/v1/keys", 409, keys, { name: "import", role: "reader" }],
    ["GET /admin/v1/keys", 200, keys],
    ["DELETE /admin/v1/keys/{id}", 204, `${keys}/${key}`],
    ["DELETE /admin/v1/keys/{id}", 404, `${keys}/${key}`],
    ["DELETE /admin/v1/keys/{id}", 409, `${keys}/environment`],
    ["GET /admin/v1/findings", 200, "/admin/v1/findings"],
    ["GET /healthz", 200, "/healthz"],
    ["GET /readyz", 200, "/readyz"],
  ];
}

test.skipIf(isOnPostgres)("every admin route answers as the document says", async () => {
  const copy = structuredClone(document);
  const all = [...(await calls()), ...(await deliveryCalls()), ...(await backupCalls())];
  expect(new Set(all.map(([operation]) => operation))).toEqual(
    new Set(operations(document).map(({ name }) => name)),
  );
  const bodies = new Map<string, unknown[]>();
  for (const [name, status, address, body, headers] of all) {
    const [method = ""] = name.split(" ");
    const answer = await server.admin(method, address, body, headers);
    const label = `${name} ${status}`;
    expect([label, address, answer.status]).toEqual([label, address, status]);
    const documented = response(document, find(document, name), status);
    const missing = Object.keys(documented.headers ?? {}).filter((header) => !answer.headers.has(header));
    expect([label, missing]).toEqual([label, []]);
    const types = Object.keys(documented.content ?? {});
    expect([label, answer.headers.get("content-type") ?? ""]).toEqual([label, types[0] ?? ""]);
    // A stream has no end.
    if (types[0] === "text/event-stream" && status === 200) {
      await answer.body?.cancel();
      continue;
    }
    const text = await answer.text();
    expect(text).not.toContain(adminKey);
    if (types[0] === "application/json") bodies.set(label, [...(bodies.get(label) ?? []), JSON.parse(text)]);
  }
  for (const [label, answers] of bodies) {
    const [method, path, status = ""] = label.split(" ");
    const operation = find(copy, `${method} ${path}`);
    const media = response(copy, operation, Number(status)).content?.["application/json"];
    const examples: MediaType["examples"] = Object.fromEntries(
      answers.map((value, i) => [`answer${i}`, { value }]),
    );
    const content = { "application/json": { schema: media?.schema ?? {}, examples } };
    operation.responses[status] = { description: "As answered.", content };
  }
  const problems = await lint(copy);
  expect(problems.filter((problem) => !problem.startsWith("no-unused-components"))).toEqual([]);
});
