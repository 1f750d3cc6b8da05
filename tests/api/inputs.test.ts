import { describe, expect, test } from "bun:test";
import { type OpenApiDocument, type OperationObject, operations } from "../support/openapi.ts";
import { event, example } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { adminKey, json, testServer } from "../support/server.ts";

/*
 * Rules for what comes in, held against every parameter and every body that the two documents name, so that a new route
 * is tested by being documented.
 */

interface Property {
  readonly type?: string;
  readonly additionalProperties?: boolean;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly allowEmptyValue?: boolean;
  readonly example?: unknown;
  readonly schema?: Property;
}

/** An operation of either listener, ready to be called. */
interface Asked {
  readonly listener: "public" | "admin";
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly Parameter[];
  /** The example of a JSON body. */
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly isOptional: boolean;
  readonly isClosed: boolean;
}

const server = await testServer({ users });
const app = await server.application({ delivery: "both", webhook_url: "http://127.0.0.1:9/hook" });
const documents = await Promise.all(
  [server.publicUrl, server.adminUrl].map(async (origin) =>
    json<OpenApiDocument>(await fetch(`${origin}/openapi.json`)),
  ),
);
const asked = documents.flatMap((document, i) => {
  const listener = i === 0 ? "public" : "admin";
  return operations(document).map(({ name, operation }) => askedOf(listener, document, name, operation));
});

function askedOf(
  listener: Asked["listener"],
  document: OpenApiDocument,
  name: string,
  operation: OperationObject,
): Asked {
  const [method = "", path = ""] = name.split(" ");
  const resolved = <T>(part: { $ref?: string } | undefined): T => {
    if (!part?.$ref) return part as T;
    const names = part.$ref.split("/").slice(1);
    return resolved(
      names.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document) as object,
    );
  };
  const origin = listener === "public" ? server.publicUrl : server.adminUrl;
  const token = listener === "public" ? app.token : adminKey;
  const ids = path
    .replace("/applications/{id}", `/applications/${app.id}`)
    .replace("{name}", "raffle.won")
    .replace(/\{[a-z_]+\}/g, "1");
  const request = resolved<{
    required?: boolean;
    content?: Record<string, { schema: object; example?: unknown }>;
  }>(operation.requestBody);
  const media = request?.content?.["application/json"];
  const schema = media && resolved<Property>(media.schema);
  return {
    listener,
    name,
    method,
    url: origin + ids,
    headers: { authorization: `Bearer ${token}` },
    query: (operation.parameters ?? [])
      .map((parameter) => resolved<Parameter>(parameter))
      .filter((parameter) => parameter.in === "query"),
    body: schema?.type === "object" ? (media?.example as Asked["body"]) : null,
    isOptional: request?.required === false,
    isClosed: schema?.additionalProperties === false,
  };
}

async function call({ method, url, headers }: Asked, query = "", body?: string, type = "application/json") {
  const response = await fetch(url + query, {
    method,
    redirect: "manual",
    headers: { ...headers, ...(type !== "" && { "content-type": type }) },
    ...(body !== undefined && { body }),
  });
  // A stream has no end.
  if (response.headers.get("content-type") === "text/event-stream") await response.body?.cancel();
  const text = response.headers.get("content-type") === "application/json" ? await response.text() : "{}";
  return { status: response.status, error: JSON.parse(text || "{}") as { errors?: { field: string }[] } };
}

describe("an empty value of a parameter", () => {
  test("is absent where the document allows it, and an error everywhere else", async () => {
    const allowed: string[] = [];
    let refused = 0;
    for (const operation of asked) {
      for (const { name, allowEmptyValue } of operation.query) {
        // What else is required has its example.
        const others = operation.query
          .filter((other) => other.required && other.name !== name)
          .map((other) => `${other.name}=${other.example ?? other.schema?.type}`);
        const given = (more: string[]) => call(operation, `?${[...others, ...more].join("&")}`);
        const empty = await given([`${name}=`]);
        const label = `${operation.name} ${name}`;
        if (allowEmptyValue) {
          allowed.push(`${operation.listener} ${name}`);
          expect([label, empty.status]).toEqual([label, (await given([])).status]);
          expect([label, empty.status]).toEqual([label, 200]);
        } else {
          refused++;
          expect([label, empty.status]).toEqual([label, 400]);
          if (!operation.name.includes("/oauth/")) {
            expect([label, empty.error.errors?.map(({ field }) => field)]).toEqual([label, [name]]);
          }
        }
      }
    }
    const ofAdmin = ["admin cursor", "admin find", "admin name"];
    const ofPublic = ["public cursor", "public lastEventId", "public name", "public q"];
    expect([...new Set(allowed)].sort()).toEqual([...ofAdmin, ...ofPublic]);
    expect(refused).toBeGreaterThan(20);
  });

  test("of white space counts as empty where it is trimmed, and does not where it is not", async () => {
    const status = async (query: string) => (await server.get(`/public/v1/categories?${query}`)).status;
    expect([await status("name=%20"), await status("q=+"), await status("cursor=%20")]).toEqual([
      200, 200, 400,
    ]);
  });
});

describe("a body", () => {
  const withBody = () => asked.filter(({ body }) => body !== null);

  test("that may be left out may be so without a Content-Type, in whatever way", async () => {
    const optional = withBody().filter(({ isOptional }) => isOptional);
    expect(optional.map(({ name }) => name).sort()).toEqual([
      "POST /admin/v1/applications/{id}/client-secret",
      "POST /admin/v1/applications/{id}/tokens",
      "POST /admin/v1/applications/{id}/webhook-secret",
      "POST /public/v1/application/webhook-secret",
      "POST /public/v1/events/test",
      "POST /public/v1/events/test/stream",
      "PUT /admin/v1/login-requests/{challenge}/reject",
    ]);
    for (const operation of optional) {
      for (const [body, type] of [
        [undefined, ""],
        ["", ""],
        ["", "application/json"],
        [undefined, "text/plain"],
      ] as const) {
        const empty = await call(operation, "", body, type);
        expect([operation.name, body, type, [400, 415].includes(empty.status)]).toEqual([
          operation.name,
          body,
          type,
          false,
        ]);
      }
      expect((await call(operation, "", "{}", "text/plain")).status).toBe(415);
      expect((await call(operation, "", " ")).status).toBe(400);
    }
  });

  test("that may not be left out is an error where it is", async () => {
    for (const operation of withBody().filter(({ isOptional }) => !isOptional)) {
      const statuses = [
        await call(operation, "", "", "application/json"),
        await call(operation, "", undefined, ""),
      ];
      expect([operation.name, ...statuses.map(({ status }) => status)]).toEqual([operation.name, 400, 415]);
    }
  });

  test("with half of a surrogate pair in a string or a name is an error that names the field", async () => {
    expect(withBody().length).toBeGreaterThan(10);
    for (const operation of withBody()) {
      const example = JSON.stringify(operation.body).slice(0, -1);
      const comma = example === "{" ? "" : ",";
      const fields = async (more: string) => {
        const { status, error } = await call(operation, "", `${example}${comma}${more}}`);
        return [operation.name, status, error.errors?.map(({ field }) => field).slice(0, 1)];
      };
      expect(await fields('"more":["\\ud83d"]')).toEqual([operation.name, 400, ["more[0]"]]);
      expect(await fields('"more":{"\\udc4d":1}')).toEqual([operation.name, 400, ["more"]]);
    }
    const events = (text: string) => `{"events":[{"name":"${text}","version":1}],"broadcaster_user_id":1001}`;
    const subscribe = asked.find(({ name }) => name === "POST /public/v1/events/subscriptions");
    if (!subscribe) throw new Error("no such operation");
    const wrong = await call(subscribe, "", events("\\uDFFF\\uD800"));
    expect([wrong.status, wrong.error.errors]).toEqual([
      400,
      [{ in: "body", field: "events[0].name", message: "must not contain half of a surrogate pair" }],
    ] as never);
    // A whole pair, also an escaped one, and an escaped backslash are nothing of that kind.
    for (const text of ["\\ud83d\\udc4d", "👍", "\\\\ud83d"]) {
      expect((await call(subscribe, "", events(text))).error).toMatchObject({ code: "subscription_failed" });
    }
  });

  test("of the public API may have fields that are not known", async () => {
    for (const operation of withBody().filter(({ listener }) => listener === "public")) {
      const { status } = await call(operation, "", JSON.stringify({ ...operation.body, wbhook_url: 1 }));
      expect([operation.name, status]).not.toEqual([operation.name, 400]);
      expect(operation.isClosed).toBe(false);
    }
  });

  test("of an application or a key may not, and the document says so", async () => {
    const closed = withBody().filter(({ isClosed }) => isClosed);
    expect(closed.map(({ name }) => name).sort()).toEqual([
      "PATCH /admin/v1/applications/{id}",
      "POST /admin/v1/applications",
      "POST /admin/v1/applications/{id}/client-secret",
      "POST /admin/v1/applications/{id}/filters/test",
      "POST /admin/v1/applications/{id}/tokens",
      "POST /admin/v1/applications/{id}/webhook-secret",
      "POST /admin/v1/keys",
    ]);
    const before = await (await server.admin("GET", "/admin/v1/applications")).text();
    for (const operation of closed) {
      const { status, error } = await call(
        operation,
        "",
        JSON.stringify({ ...operation.body, wbhook_url: "https://x.example/" }),
      );
      expect([operation.name, status, error.errors]).toEqual([
        operation.name,
        400,
        [{ in: "body", field: "wbhook_url", message: "is not a known field" }],
      ] as never);
    }
    expect(await (await server.admin("GET", "/admin/v1/applications")).text()).toBe(before);
  });
});

describe("a time in a body", () => {
  const message = "is not a date that exists";
  const type = "livestream.status.updated";

  test.each<[string, string, string, (time: string) => object]>([
    ["PUT", "/admin/v1/users/8100", "created_at", (created_at) => ({ username: "dated", created_at })],
    [
      "POST",
      "/admin/v1/events",
      "data.started_at",
      (started_at) => event(type, { data: { ...(example(type) as object), started_at } }),
    ],
    ["POST", "/public/v1/events/replays", "from", (from) => ({ from, to: "2026-03-03T00:00:00Z" })],
  ])("%s %s takes %s only where the date exists", async (method, path, field, body) => {
    const { token } = await server.application();
    const send = (time: string) =>
      path.startsWith("/admin")
        ? server.admin(method, path, body(time))
        : server.post(path, { ...body(time), dry_run: true }, token);
    for (const time of ["2026-02-29T00:00:00Z", "2026-04-31T23:59:59.5Z", "2100-02-29T00:00:00Z"]) {
      const answer = await send(time);
      const errors = [{ in: "body", field, message }];
      expect([answer.status, await json<object>(answer)]).toMatchObject([400, { errors }]);
    }
    expect((await send("2026-02-28T23:59:59.123456789Z")).status).toBeLessThan(300);
  });

  test.each<[string, string, object, string]>([
    ["POST", "/admin/v1/users/batch", { id: 8101, username: "dated2" }, "created_at"],
    ["PUT", "/admin/v1/livestreams", { channel_id: 5001, category_id: 1, viewers: 1 }, "started_at"],
  ])("%s %s refuses the line otherwise", async (method, path, line, field) => {
    const answer = await server.admin(
      method,
      path,
      `${JSON.stringify({ ...line, [field]: "2026-02-30T00:00:00Z" })}\n`,
    );
    expect(await json<object>(answer)).toMatchObject({
      accepted: 0,
      errors: [{ line: 1, message: `${field} ${message}` }],
    });
  });
});
