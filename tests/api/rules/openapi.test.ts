import { describe, expect, test } from "bun:test";
import { statusOf } from "../../../src/api/http/errors.ts";
import { builtInEventTypes } from "../../../src/domain/events/built-in.ts";
import { endpointNotices, serverNotices } from "../../../src/domain/notices.ts";
import {
  documentOf,
  find,
  lint,
  type OpenApiDocument,
  operations,
  type ResponseObject,
  response,
} from "../../support/openapi.ts";
import { adminKey, json, testServer } from "../../support/server.ts";

/* What the documents of both listeners say. `routes.test.ts` compares them with the routes. */

const server = await testServer();
const urls = { public: server.publicUrl, admin: server.adminUrl };
const listeners = ["public", "admin"] as const;
const documents = {
  public: await documentOf(urls.public),
  admin: await documentOf(urls.admin),
};
const document = documents.public;

/** A part of a document, as far as these tests look at it. */
interface Part {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Part>>;
  readonly items?: Part;
  readonly anyOf?: readonly Part[];
  readonly oneOf?: readonly Part[];
  readonly allOf?: readonly Part[];
}

/** What is not a reference, with where it is. */
function* schemasIn(part: Part, at: string): Generator<{ readonly at: string; readonly part: Part }> {
  if (part.$ref !== undefined) return;
  yield { at, part };
  const options = [...(part.anyOf ?? []), ...(part.oneOf ?? []), ...(part.allOf ?? [])];
  for (const [i, option] of options.entries()) yield* schemasIn(option, `${at}|${i}`);
  if (part.items) yield* schemasIn(part.items, `${at}[]`);
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    yield* schemasIn(property, `${at}.${name}`);
  }
}

/** What a reference leads to. */
function found(document: OpenApiDocument, { $ref = "" }: Part): Part {
  let part: unknown = document;
  for (const key of $ref.split("/").slice(1)) part = (part as Record<string, unknown>)[key];
  return part as Part;
}

describe.each(listeners)("the %s document", (listener) => {
  const document = documents[listener];

  test("is valid under the recommended rules of Redocly, with its examples, without a warning", async () => {
    expect(await lint(document)).toEqual([]);
  });

  test("carries nothing that only our own readers understand", () => {
    const text = JSON.stringify(document);
    for (const leftover of ["trim", "errorMessage", "$id", "x-component", "~kind"]) {
      expect(text).not.toContain(`"${leftover}":`);
    }
    expect(text).not.toContain("{base_url}");
  });

  test("describes every operation, with a tag that is explained", () => {
    const tags = new Set(document.tags.filter(({ description }) => description).map(({ name }) => name));
    for (const { operation } of operations(document)) {
      expect(operation.description.length).toBeGreaterThan(20);
      expect(operation.tags.every((tag) => tags.has(tag))).toBe(true);
    }
  });

  test("describes every component, property and parameter", () => {
    const silent: string[] = [];
    const look = (part: Part, at: string) => {
      if (!(part.$ref ? found(document, part) : part).description) silent.push(at);
    };
    const bodies = Object.entries(document.webhooks ?? {}).map(([event, { post }]): [string, Part] => {
      return [event, post.requestBody?.content["application/json"]?.schema as Part];
    });
    for (const [schema, part] of [...Object.entries(document.components.schemas), ...bodies]) {
      if (!bodies.some(([event]) => event === schema)) look(part, schema);
      for (const { at, part: inner } of schemasIn(part, schema)) {
        for (const [key, property] of Object.entries(inner.properties ?? {})) look(property, `${at}.${key}`);
      }
    }
    for (const { name: operation, operation: of } of operations(document)) {
      for (const parameter of of.parameters ?? []) look(parameter as Part, `${operation} ${parameter.name}`);
    }
    expect(silent).toEqual([]);
  });

  test("names the bodies of requests and answers, and every object in them", () => {
    const unnamed: string[] = [];
    for (const { name: operation, operation: of } of operations(document)) {
      const parts = [...(of.requestBody ? [of.requestBody] : []), ...Object.values(of.responses)];
      for (const part of parts) {
        const { content = {} } = (
          (part as Part).$ref ? found(document, part as Part) : part
        ) as ResponseObject;
        for (const { schema } of Object.values(content)) {
          const given = schema as Part;
          if (given.$ref === undefined && given.type !== "string") unnamed.push(operation);
        }
      }
    }
    for (const [schema, part] of Object.entries(document.components.schemas)) {
      for (const { at, part: inner } of schemasIn(part, schema)) {
        if (at !== schema && inner.properties) unnamed.push(at);
      }
    }
    expect(unnamed).toEqual([]);
  });

  test("has one pagination, a contact, and links to operations and parameters that there are", () => {
    const text = JSON.stringify(document.paths) + JSON.stringify(document.components.schemas);
    expect(
      text.match(/"pagination":\{(?!"\$ref":"#\/components\/schemas\/Pagination"|"cursor")/g),
    ).toBeNull();
    expect(document.info["contact"]).toMatchObject({ name: expect.any(String), url: expect.any(String) });
    const byId = new Map(operations(document).map(({ operation }) => [operation.operationId, operation]));
    let links = 0;
    for (const { operation } of operations(document)) {
      for (const response of Object.values(operation.responses)) {
        for (const { operationId, parameters } of Object.values(response.links ?? {})) {
          links++;
          const names = byId.get(operationId)?.parameters?.map((parameter) => parameter.name) ?? [];
          for (const parameter of Object.keys(parameters)) expect(names).toContain(parameter);
        }
      }
    }
    expect(links).toBeGreaterThan(5);
  });

  test("has an example for each body of a request, and of a successful answer", () => {
    const bodies = operations(document).flatMap(({ name, operation: { requestBody, responses } }) => {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
      const parts = [...(requestBody ? [requestBody] : []), ...successes.map(([, answer]) => answer)];
      return parts.flatMap(({ content = {} }) =>
        Object.entries(content).map(([type, { example }]) => ({ name, type, example })),
      );
    });
    expect(bodies.length).toBeGreaterThan(40);
    const isFile = (type: string) => type === "application/vnd.sqlite3";
    expect(bodies.filter(({ type, example }) => example === undefined && !isFile(type))).toEqual([]);
  });
});

describe("the public document", () => {
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
});

describe("the admin document", () => {
  const document = documents.admin;

  test("names the address and the key of the listener, and nothing of the public one", () => {
    expect(document.servers).toEqual([{ url: server.adminUrl }]);
    expect(Object.keys(document.components.securitySchemes)).toEqual(["operatorKey"]);
    expect(Object.keys(document.paths).filter((path) => path.startsWith("/public"))).toEqual([]);
    expect(JSON.stringify(document)).not.toContain("RateLimit-");
  });

  test("has the notices that the notify URL gets", () => {
    expect(Object.keys(document.webhooks)).toEqual([...endpointNotices, ...serverNotices]);
    for (const { post } of Object.values(document.webhooks)) expect(post.parameters).toHaveLength(6);
  });

  test("says which routes need the operator key, and they do before anything else is looked at", async () => {
    for (const { name, operation } of operations(document)) {
      const [method = "", path = ""] = name.split(" ");
      if (operation.security.length === 0) {
        expect(["/healthz", "/readyz"]).toContain(path);
        expect((await fetch(server.adminUrl + path)).status).toBe(200);
        continue;
      }
      const url = server.adminUrl + path.replace(/\{[a-z_]+\}/g, "x");
      for (const authorization of [undefined, `Bearer ${adminKey}x`]) {
        const headers = { ...(authorization && { authorization }) };
        const body = method === "GET" || method === "DELETE" ? null : "{";
        const answer = await fetch(url, { method, headers, body });
        expect([name, authorization, answer.status]).toEqual([name, authorization, 401]);
        expect(await answer.text()).not.toContain(adminKey);
      }
    }
  });
});

test("errors of the admin API have the one shape", async () => {
  const unknown = await server.admin("GET", "/admin/v1/nothing");
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: "not_found", errors: [] }]);
  const method = await server.admin("GET", "/admin/v1/events");
  expect([method.status, method.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
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

  test("name both media types of an error that a browser is shown as a page", () => {
    const { content } = response(document, find(document, "GET /oauth/authorize"), 400);
    expect(Object.keys(content ?? {})).toEqual(["application/json", "text/html"]);
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

describe.each(listeners)("GET /openapi-3.0.json of the %s API", (listener) => {
  const url = `${urls[listener]}/openapi-3.0.json`;
  const read = async () => json<OpenApiDocument>(await fetch(url));

  test("is valid under the recommended rules of Redocly, with all operations and events", async () => {
    const form = await read();
    const newest = documents[listener];
    expect(await lint(form)).toEqual([]);
    expect(form.openapi).toBe("3.0.3");
    expect(operations(form).map(({ name }) => name)).toEqual(operations(newest).map(({ name }) => name));
    expect(form).not.toHaveProperty("webhooks");
    expect(Object.keys(form["x-webhooks"] ?? {})).toEqual(Object.keys(newest.webhooks));
    expect(form.components.schemas).toContainKey("EndpointFailingEvent");
  });

  test("has no keyword that OpenAPI 3.0 lacks", async () => {
    const form = schemasOf(await read());
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
    const same = operations(await read()).flatMap(({ name, operation }) => {
      const parameters = (operation.parameters ?? []) as readonly { readonly name?: string }[];
      const names = parameters.flatMap((one) => one.name?.replaceAll(/[-_]/g, "").toLowerCase() ?? []);
      return names.length === new Set(names).size ? [] : [name];
    });
    expect(same).toEqual([]);
  });

  test("lets the same fields be null", async () => {
    const { components } = await read();
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
