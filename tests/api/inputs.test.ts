import { describe, expect, test } from "bun:test";
import { event, example } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { type Documented, documentedOf } from "../support/requests/documented.ts";
import { faultsOf } from "../support/requests/faults.ts";
import { type Input, Known, validInput, written } from "../support/requests/input.ts";
import { adminKey, json, testServer } from "../support/server.ts";

/*
 * Rules for what comes in, held against every parameter and every body that the two documents name, so that a new route
 * is tested by being documented.
 */

const server = await testServer({ users });
const app = await server.application({ delivery: "both", webhook_url: "http://127.0.0.1:9/hook" });
const known = new Known();
known.add("applications", app.id);
known.add("event-types", "channel.followed");
const origins = { public: server.publicUrl, admin: server.adminUrl };
const all = await documentedOf(server);

interface Answer {
  readonly status: number;
  readonly error: {
    readonly code?: string;
    readonly errors?: { in: string; field: string; message: string }[];
  };
}

async function call(input: Input): Promise<Answer> {
  const { path, ...request } = written(input, known);
  const { listener } = input.operation;
  const token = listener === "public" ? app.token : adminKey;
  const response = await fetch(origins[listener] + path, {
    ...request,
    redirect: "manual",
    headers: { authorization: `Bearer ${token}`, ...input.headers },
  });
  // A stream has no end.
  if (response.headers.get("content-type") === "text/event-stream") await response.body?.cancel();
  const text = response.headers.get("content-type") === "application/json" ? await response.text() : "{}";
  return { status: response.status, error: JSON.parse(text || "{}") as Answer["error"] };
}

/** The faults of all operations but those of OAuth, whose errors have another form. */
const faults = all.filter(({ path }) => !path.startsWith("/oauth/")).flatMap(faultsOf);

test("each fault of a parameter or a field is refused, and the only error names it with its message", async () => {
  const before = await (await server.admin("GET", "/admin/v1/applications")).text();
  const wrong: unknown[] = [];
  for (const { input, how, status, error } of faults) {
    const answer = await call(input);
    const [one, more] = answer.error.errors ?? [];
    const isRight =
      answer.status === status &&
      (error === null || (one?.in === error.in && one.field === error.field && more === undefined)) &&
      (error?.message == null || one?.message === error.message);
    if (!isRight)
      wrong.push({
        name: input.operation.name,
        how,
        error,
        answered: [answer.status, answer.error.code, answer.error.errors],
      });
  }
  expect(wrong).toEqual([]);
  expect(faults.length).toBeGreaterThan(500);
  expect(await (await server.admin("GET", "/admin/v1/applications")).text()).toBe(before);
});

describe("an empty value of a parameter", () => {
  test("is absent where the document allows it", async () => {
    const allowed: string[] = [];
    for (const operation of all) {
      const valid = validInput(operation);
      const maybe = operation.parameters.filter(({ allowEmptyValue }) => allowEmptyValue);
      for (const { name } of maybe) {
        allowed.push(`${operation.listener} ${name}`);
        const empty = await call({ ...valid, query: [...valid.query, [name, ""]] });
        expect([operation.name, name, empty.status]).toEqual([operation.name, name, 200]);
      }
    }
    const ofAdmin = ["admin cursor", "admin find", "admin name"];
    const ofPublic = ["public cursor", "public lastEventId", "public name", "public q"];
    expect([...new Set(allowed)].sort()).toEqual([...ofAdmin, ...ofPublic]);
  });

  test("is an error in a request of a browser for a sign-in", async () => {
    const authorize = all.filter(({ path }) => path === "/oauth/authorize").flatMap(faultsOf);
    expect(authorize.length).toBeGreaterThan(10);
    for (const { input, how, error } of authorize) {
      const { status } = await call(input);
      expect([how, error?.field, status]).toEqual([how, error?.field, 400]);
    }
  });

  test("of white space counts as empty where it is trimmed, and does not where it is not", async () => {
    const status = async (query: string) => (await server.get(`/public/v1/categories?${query}`)).status;
    expect([await status("name=%20"), await status("q=+"), await status("cursor=%20")]).toEqual([
      200, 200, 400,
    ]);
  });
});

describe("a body", () => {
  const jsonOf = ({ bodies }: Documented) => bodies.find(({ type }) => type === "application/json");
  const withBody = all.filter(jsonOf);
  const isClosed = (operation: Documented) => {
    return operation.resolved(jsonOf(operation)?.schema ?? {}).additionalProperties === false;
  };

  test("that may be left out may be so without a Content-Type, in whatever way", async () => {
    const optional = withBody.filter(({ isBodyRequired }) => !isBodyRequired);
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
        [null, ""],
        ["", ""],
        ["", "application/json"],
        [null, "text/plain"],
      ] as const) {
        const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
        const { status } = await call({ ...validInput(operation), body, headers });
        expect([operation.name, body, type, [400, 415].includes(status)]).toEqual([
          operation.name,
          body,
          type,
          false,
        ]);
      }
    }
  });

  test("with half of a surrogate pair in an item is an error that names the item; a whole pair is not", async () => {
    const send = (text: string) => {
      const body = `{"events":[{"name":"${text}","version":1}],"broadcaster_user_id":1001}`;
      const headers = { "content-type": "application/json" };
      return server.get("/public/v1/events/subscriptions", app.token, { method: "POST", body, headers });
    };
    const message = "must not contain half of a surrogate pair";
    expect(await json<object>(await send("\\uDFFF\\uD800"))).toMatchObject({
      errors: [{ in: "body", field: "events[0].name", message }],
    });
    for (const text of ["\\ud83d\\udc4d", "👍", "\\\\ud83d"])
      expect(await json<object>(await send(text))).toMatchObject({ code: "subscription_failed" });
  });

  test("of the public API may have fields that are not known", async () => {
    for (const operation of withBody.filter(({ listener }) => listener === "public")) {
      const body = JSON.stringify({ ...(jsonOf(operation)?.example as object), wbhook_url: 1 });
      const { status } = await call({ ...validInput(operation), body });
      expect([operation.name, status]).not.toEqual([operation.name, 400]);
      expect(isClosed(operation)).toBe(false);
    }
  });

  test("of an application or a key may not, and the document says so", () => {
    expect(
      withBody
        .filter(isClosed)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([
      "PATCH /admin/v1/applications/{id}",
      "POST /admin/v1/applications",
      "POST /admin/v1/applications/{id}/client-secret",
      "POST /admin/v1/applications/{id}/filters/test",
      "POST /admin/v1/applications/{id}/tokens",
      "POST /admin/v1/applications/{id}/webhook-secret",
      "POST /admin/v1/keys",
    ]);
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
