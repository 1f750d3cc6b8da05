import { describe, expect, test } from "bun:test";
import { authenticator, rateLimiter } from "../../src/api/http/access.ts";
import { Cursors } from "../../src/api/http/cursors.ts";
import { statusOf } from "../../src/api/http/errors.ts";
import { LoginChallenges } from "../../src/api/http/oauth.ts";
import { publicApp } from "../../src/api/public.ts";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { Catalogue } from "../../src/domain/events/catalogue.ts";
import { endpointNotices } from "../../src/domain/notices.ts";
import { RequestCounter } from "../../src/domain/requests.ts";
import { Ranking } from "../../src/platform/ranking.ts";
import { createLog } from "../../src/runtime/log.ts";
import { find, lint, type OpenApiDocument, operations, response } from "../support/openapi.ts";
import { json, testServer } from "../support/server.ts";

const server = await testServer();
const document = (await (await server.get("/openapi.json")).json()) as OpenApiDocument;

describe("the document", () => {
  test("is valid under the recommended rules of Redocly, without a warning", async () => {
    expect(await lint(document)).toEqual([]);
  });

  test("has examples that Redocly checks against their schemas", async () => {
    const broken = structuredClone(document);
    const media = broken.paths["/public/v1/users/{username}"]?.["get"]?.responses["200"]?.content;
    Object.assign(media?.["application/json"] ?? {}, { example: { user: { id: "one" }, message: "OK" } });
    const found = await lint(broken);
    expect(found.length).toBeGreaterThan(0);
    expect(found.every((problem) => problem.startsWith("no-invalid-media-type-examples"))).toBe(true);
  });

  test("carries nothing that only our own readers understand", () => {
    const text = JSON.stringify(document);
    for (const leftover of ["trim", "errorMessage", "$id", "x-component", "~kind"]) {
      expect(text).not.toContain(`"${leftover}":`);
    }
    expect(text).not.toContain("{base_url}");
  });

  test("says where the server is, also in its examples", () => {
    const { publicUrl } = server;
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: publicUrl }]);
    expect(document.info).toMatchObject({ title: "On Air", license: { name: "MIT" } });
    expect(document.info["description"]).toContain(`${publicUrl}/oauth/token`);
    const { flows } = document.components.securitySchemes["accessToken"] ?? {};
    expect(flows?.clientCredentials.tokenUrl).toBe(`${publicUrl}/oauth/token`);
    expect(Object.keys(flows?.clientCredentials.scopes ?? {})).toEqual(["users:read", "events:subscribe"]);
    expect(flows?.authorizationCode).toMatchObject({
      authorizationUrl: `${publicUrl}/oauth/authorize`,
      scopes: flows?.clientCredentials.scopes,
    });
    expect(JSON.stringify(document.paths)).toContain(`"${publicUrl}/assets/profile-picture.png"`);
  });

  test("names no media type that is not served", () => {
    const all = operations(document).flatMap(({ operation }) => [
      operation.requestBody,
      ...Object.values(operation.responses),
    ]);
    const types = new Set(all.flatMap((part) => Object.keys(part?.content ?? {})));
    expect(types).toEqual(
      new Set(["application/json", "application/x-www-form-urlencoded", "text/event-stream", "text/html"]),
    );
    const form = operations(document).filter(({ operation }) => {
      return operation.requestBody?.content["application/x-www-form-urlencoded"];
    });
    expect(form.map(({ name }) => name)).toEqual([
      "POST /oauth/token",
      "POST /oauth/revoke",
      "POST /oauth/introspect",
    ]);
  });

  test("describes every operation and parameter, and has a description for every tag", () => {
    const tags = new Set(document.tags.filter(({ description }) => description).map(({ name }) => name));
    for (const { operation } of operations(document)) {
      expect(operation.description.length).toBeGreaterThan(20);
      expect(operation.tags.every((tag) => tags.has(tag))).toBe(true);
      for (const parameter of operation.parameters ?? []) {
        if (!parameter.$ref) expect(parameter).toMatchObject({ description: expect.stringMatching(/./) });
      }
    }
  });

  test("has an example for each successful answer with a body", () => {
    for (const { operation } of operations(document)) {
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        if (!status.startsWith("2")) continue;
        for (const media of Object.values(content)) expect(media.example).toBeDefined();
      }
    }
  });
});

/** The schemas of a document, nested ones included, with their places. */
function schemasOf(part: unknown, place = "", isSchema = false): [string, Record<string, unknown>][] {
  if (typeof part !== "object" || part === null) return [];
  const own: [string, Record<string, unknown>][] = isSchema ? [[place, part as Record<string, unknown>]] : [];
  for (const [name, value] of Object.entries(part)) {
    if (["example", "examples", "default", "enum", "const"].includes(name) && !place.endsWith("properties"))
      continue;
    const isMap = /(^|[/])(properties|schemas|anyOf|allOf|oneOf)$/.test(place) || name === "schema";
    const isPart = isSchema && ["items", "additionalProperties"].includes(name);
    own.push(...schemasOf(value, `${place}/${name}`, isMap || isPart));
  }
  return own;
}

describe("generators of clients", () => {
  const schemas = schemasOf(document);

  test("get integers of 64 bits wherever a number may not fit 32", () => {
    const integers = schemas.filter(([, { type }]) => [type].flat().includes("integer"));
    expect(integers.length).toBeGreaterThan(100);
    const narrow = integers.filter(
      ([, { format, maximum, const: only }]) =>
        format !== "int64" && !(Number(maximum ?? only) <= 2_147_483_647),
    );
    expect(narrow.map(([place]) => place)).toEqual([]);
    const ids = integers.filter(([, { maximum }]) => maximum === Number.MAX_SAFE_INTEGER);
    expect(ids.length).toBeGreaterThan(10);
  });

  test("get null as a constant outside of unions, and maps as additional properties", () => {
    const isOption = (place: string) => /[/]anyOf[/][0-9]+$/.test(place);
    const nulls = schemas.filter(([place, { type }]) => type === "null" && !isOption(place));
    expect(nulls.map(([place]) => place)).toEqual([]);
    expect(schemas.filter(([, schema]) => schema["const"] === null)).toHaveLength(6);
    expect(schemas.filter(([, schema]) => "patternProperties" in schema)).toEqual([]);
  });

  test("get one form for tokens, with `grant_type` once", () => {
    const { properties, required, ...rest } = document.components.schemas["TokenForm"] as Schema;
    expect(rest).not.toContainAnyKeys(["anyOf", "oneOf", "additionalProperties"]);
    expect(required).toEqual(["grant_type"]);
    expect(properties).toMatchObject({
      grant_type: { type: "string", enum: ["client_credentials", "authorization_code", "refresh_token"] },
      code_verifier: {
        minLength: 43,
        description: expect.stringMatching(/^With `authorization_code`: Required/),
      },
      client_id: { description: expect.stringMatching(/^Client id/) },
    });
    expect(Object.keys(properties).sort()).toEqual([
      "client_id",
      "client_secret",
      "code",
      "code_verifier",
      "grant_type",
      "redirect_uri",
      "refresh_token",
      "scope",
    ]);
  });
});

interface Schema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  readonly [keyword: string]: unknown;
}

test.each(["public", "admin"] as const)(
  "the document of the %s API has an example for each body of a request",
  async (listener) => {
    const url = listener === "public" ? server.publicUrl : server.adminUrl;
    const own = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
    const bodies = operations(own).flatMap(({ name, operation }) =>
      Object.values(operation.requestBody?.content ?? {}).map(({ example }) => ({ name, example })),
    );
    expect(bodies.length).toBeGreaterThan(8);
    expect(bodies.filter(({ example }) => example === undefined)).toEqual([]);
  },
);

describe.each(["public", "admin"] as const)("GET /openapi-3.0.json of the %s API", (listener) => {
  const url = listener === "public" ? server.publicUrl : server.adminUrl;
  const read = async (path: string) => (await fetch(`${url}${path}`)).json() as Promise<OpenApiDocument>;

  test("is valid under the recommended rules of Redocly, with all operations and events", async () => {
    const form = await read("/openapi-3.0.json");
    const newest = await read("/openapi.json");
    expect(await lint(form)).toEqual([]);
    expect(form.openapi).toBe("3.0.3");
    expect(operations(form).map(({ name }) => name)).toEqual(operations(newest).map(({ name }) => name));
    expect(form).not.toHaveProperty("webhooks");
    expect(Object.keys(form["x-webhooks"] ?? {})).toEqual(Object.keys(newest.webhooks));
    expect(form.components.schemas).toContainKey("EndpointFailingEvent");
  });

  test("has no keyword that OpenAPI 3.0 lacks", async () => {
    const form = schemasOf(await read("/openapi-3.0.json"));
    expect(form.length).toBeGreaterThan(100);
    const newer = ["const", "patternProperties", "examples", "$defs", "prefixItems"];
    const found = form.filter(
      ([, schema]) =>
        Array.isArray(schema["type"]) ||
        schema["type"] === "null" ||
        newer.some((keyword) => keyword in schema) ||
        ("$ref" in schema && Object.keys(schema).length > 1),
    );
    expect(found).toEqual([]);
  });

  test("has no two parameters of an operation that are one name in code", async () => {
    const same = operations(await read("/openapi-3.0.json")).flatMap(({ name, operation }) => {
      const parameters = (operation.parameters ?? []) as readonly { readonly name?: string }[];
      const names = parameters.flatMap((one) => one.name?.replaceAll(/[-_]/g, "").toLowerCase() ?? []);
      return names.length === new Set(names).size ? [] : [name];
    });
    expect(same).toEqual([]);
  });

  test("lets the same fields be null", async () => {
    const { components } = await read("/openapi-3.0.json");
    const name = listener === "public" ? "SubscriptionHealth" : "Endpoint";
    expect(components.schemas[name]).toMatchObject({
      properties: {
        disabled_reason: {
          type: "string",
          nullable: true,
          allOf: [{ $ref: "#/components/schemas/DisabledReasonOrNull" }],
        },
      },
    });
    const { enum: reasons } = components.schemas["DisabledReasonOrNull"] as { enum?: unknown[] };
    expect(reasons?.at(-1)).toBeNull();
  });

  test("may be kept and asked for again", async () => {
    const first = await fetch(`${url}/openapi-3.0.json`);
    expect([first.status, first.headers.get("content-type")]).toEqual([200, "application/json"]);
    const etag = first.headers.get("etag") ?? "";
    const again = await fetch(`${url}/openapi-3.0.json`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });
});

test("the introduction lists the error codes of the listener with their statuses, and no other", () => {
  const rows = [...String(document.info["description"]).matchAll(/^\| ([1-5][0-9]{2}) +\| ([^|]*)\|/gm)];
  const listed = rows.flatMap(([, status, codes = ""]) =>
    [...codes.matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => [code, Number(status)]),
  );
  const { insufficient_role, range_not_satisfiable, unknown_host, ...others } = statusOf;
  const { empty_snapshot, confirmation_required, ...ours } = others;
  expect(Object.fromEntries(listed)).toEqual(ours);
});

describe("the operations", () => {
  test("are the routes of the listener, all of them and no other", async () => {
    const routes = publicApp({
      store: server.app.store,
      requests: new RequestCounter(Date.now),
      access: {
        authenticator: authenticator(server.app.store, Date.now),
        limiter: rateLimiter(Date.now),
        defaultRateLimit: 0,
      },
      log: createLog("off"),
      now: Date.now,
      publicUrl: () => "http://127.0.0.1:8080",
      loginUrl: null,
      allowPrivateWebhooks: false,
      ranking: new Ranking(Date.now),
      cursors: new Cursors("key"),
      challenges: new LoginChallenges("key"),
      engine: server.app.engine,
      defaultSubscriptionLimit: () => 1,
      catalogue: new Catalogue(),
      streams: { open: async () => new ReadableStream() },
      outcomes: { open: async () => new ReadableStream(), changed() {} },
      publicKey: () => ({ pem: "", standardWebhooks: "" }),
    }).routes;
    const shown = routes.filter(({ hooks }) => hooks.detail?.hide !== true);
    const names = shown.map(({ method, path }) => `${method} ${path.replace(/:([a-z_]+)/g, "{$1}")}`);
    expect(names.length).toBeGreaterThan(8);
    expect(new Set(operations(document).map(({ name }) => name))).toEqual(new Set(names));
    const hidden = routes.filter(
      ({ method, hooks }) => hooks.detail?.hide === true && method !== "ALL" && method !== "HEAD",
    );
    expect(hidden.every(({ path }) => !path.startsWith("/public/v1"))).toBe(true);
  });

  test.each([
    ["GET /public/v1/users/{username}", "users:read", [200, 400, 401, 403, 404, 429, 500, 503]],
    ["GET /public/v1/users/search", "users:read", [200, 400, 401, 403, 429, 500, 503]],
    ["GET /public/v1/events/subscriptions", "events:subscribe", [200, 401, 403, 429, 500, 503]],
    [
      "POST /public/v1/events/subscriptions",
      "events:subscribe",
      [200, 400, 401, 403, 413, 415, 429, 500, 503],
    ],
    ["DELETE /public/v1/events/subscriptions", "events:subscribe", [204, 400, 401, 403, 429, 500, 503]],
    ["GET /public/v1/categories", null, [200, 304, 400, 429, 500, 503]],
    ["GET /public/v1/categories/{id}", null, [200, 304, 400, 404, 429, 500, 503]],
    ["GET /public/v1/events/types", null, [200, 304, 429, 500, 503]],
    ["GET /public/v1/public-key", null, [200, 304, 429, 500, 503]],
    ["GET /.well-known/oauth-authorization-server", null, [200, 304, 429, 500, 503]],
  ])("%s says who may call it and what it answers", (name, scope, statuses) => {
    const operation = find(document, name);
    expect(operation.security).toEqual(scope === null ? [] : [{ bearerToken: [] }, { accessToken: [scope] }]);
    expect(Object.keys(operation.responses).map(Number)).toEqual(statuses);
  });

  test("name the error codes that they give", () => {
    const codes = (name: string, status: number) =>
      Object.keys(
        response(document, find(document, name), status).content?.["application/json"]?.examples ?? {},
      );
    expect(codes("GET /public/v1/categories", 400)).toEqual(["invalid_parameter", "invalid_cursor"]);
    expect(codes("GET /public/v1/users/{username}", 404)).toEqual(["user_not_found"]);
    expect(codes("GET /public/v1/users/search", 401)).toEqual(["missing_token", "invalid_token"]);
    expect(codes("POST /public/v1/events/subscriptions", 400)).toContain("subscription_failed");
    expect(codes("POST /oauth/token", 401)).toEqual(["invalid_client"]);
  });

  test("show the media type that a form has to have as it is answered", async () => {
    const { content } = response(document, find(document, "POST /oauth/token"), 415);
    const asked = { method: "POST", headers: { "content-type": "text/plain" }, body: "" };
    const answer = await fetch(`${server.publicUrl}/oauth/token`, asked);
    const { request_id: _, ...answered } = await json<{ request_id: string }>(answer);
    expect(content?.["application/json"]?.examples?.["unsupported_media_type"]).toMatchObject({
      value: answered,
    });
  });

  test("say that ids may be repeated", () => {
    const [id] = find(document, "DELETE /public/v1/events/subscriptions").parameters ?? [];
    expect(id).toMatchObject({ name: "id", in: "query", required: true, schema: { type: "array" } });
    // By default a list in a query is repeated.
    expect(id).not.toHaveProperty("explode");
  });
});

test("the webhooks are the event types, with the headers of a delivery, and the notices of the stream", () => {
  const names = builtInEventTypes.map(({ name }) => name);
  expect(Object.keys(document.webhooks)).toEqual([...names, ...endpointNotices]);
  for (const [name, { post }] of Object.entries(document.webhooks)) {
    expect(post.parameters).toHaveLength(names.includes(name) ? 10 : 6);
    expect(post.requestBody?.content["application/json"]?.example).toMatchObject({ type: name, version: 1 });
  }
  expect(document.components.schemas).toContainKeys(["Error", "User", "Category", "Subscription"]);
});

describe("GET /openapi.json", () => {
  test("may be kept and asked for again", async () => {
    const first = await server.get("/openapi.json");
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("content-type")).toBe("application/json");
    expect(first.headers.get("cache-control")).toBe("public, max-age=300");
    expect(first.headers.get("x-request-id")).toMatch(/^[0-9A-Z]{26}$/);
    expect(first.headers.get("ratelimit-limit")).toBeNull();
    const again = await server.get("/openapi.json", undefined, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    const head = await server.get("/openapi.json", undefined, { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
    expect((await server.get("/openapi.json", undefined, { method: "POST" })).status).toBe(405);
  });

  test("is the only way to a document: the plugin's own cannot be reached", async () => {
    for (const path of ["/swagger", "/swagger/json", "/document", "/docs/json", "/docs/openapi.json"]) {
      const answer = await server.get(path);
      expect([path, answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
        path,
        404,
        "not_found",
      ]);
    }
  });
});
