import { beforeAll, describe, expect, test } from "bun:test";
import {
  event as eventOf,
  publish,
  raffle,
  register,
  settled,
  subscriptionsPath,
} from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import { json, ownDirectory, ownServer, testServer } from "../support/server.ts";

const server = await testServer({ users });

interface ListedType {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly schema: object;
  readonly example: object;
}

const put = (name: string, body: unknown, of = server) => register(of, name, body);

async function remove(name: string, version: number): Promise<[number, string]> {
  const answer = await server.admin("DELETE", `/admin/v1/event-types/${name}?version=${version}`);
  return [answer.status, answer.status === 204 ? "" : (await json<{ message: string }>(answer)).message];
}

async function listed(of = server): Promise<ListedType[]> {
  const { data } = await json<{ data: ListedType[] }>(await of.get("/public/v1/events/types"));
  return data;
}
const listedVersions = async (name: string) =>
  (await listed()).filter((type) => type.name === name).map(({ version }) => version);

async function subscribe(token: string, name: string, version: number): Promise<{ error?: string }> {
  const body = { events: [{ name, version }], broadcaster_user_id: 1001 };
  const answer = await server.post(subscriptionsPath, body, token);
  const { data } = await json<{ data: { error?: string }[] }>(answer);
  return data[0] ?? {};
}

const event = (name: string, version: number, data: unknown) => eventOf(name, { version, data });

describe("a registered event type", () => {
  test("is listed, subscribed to, published, checked and delivered like a built-in one", async () => {
    const receiver = ownReceiver();
    const app = await server.application({ webhook_url: receiver.url });
    expect(await subscribe(app.token, "raffle.won", 1)).toMatchObject({ error: expect.any(String) });
    expect((await publish(server, event("raffle.won", 1, raffle.example))).status).toBe(400);

    const { status, body } = await put("raffle.won", { ...raffle, description: "Somebody won." });
    expect(status).toBe(200);
    expect(body.event_type).toEqual({
      name: "raffle.won",
      ...raffle,
      description: "Somebody won.",
      time_to_live_seconds: null,
      is_published: false,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await listed()).toContainEqual({ name: "raffle.won", ...raffle, description: "Somebody won." });

    const subscribed = { subscription_id: expect.any(String) };
    expect(await subscribe(app.token, "raffle.won", 1)).toMatchObject(subscribed);
    const published = await publish(server, event("raffle.won", 1, { winner: "a", tickets: 2 }));
    expect(published).toMatchObject({ status: 202, body: { deliveries: 1 } });
    const [sent] = await receiver.arrived(1);
    expect(sent?.headers["onair-event-type"]).toBe("raffle.won");
    const delivered = { type: "raffle.won", version: 1, data: { winner: "a", tickets: 2 } };
    expect(JSON.parse(sent?.body ?? "")).toMatchObject(delivered);
    const tested = await server.post("/public/v1/events/test", { event: "raffle.won" }, app.token);
    expect([tested.status, receiver.received.at(-1)?.body]).toEqual([
      200,
      expect.stringContaining("ninja_fox"),
    ]);
  });

  test("has versions, each with its own schema and subscriptions", async () => {
    const receiver = ownReceiver();
    const app = await server.application({ webhook_url: receiver.url });
    const second = { type: "object", required: ["winners"] };
    await put("raffle.two", raffle);
    await put("raffle.two", { version: 2, schema: second, example: { winners: [] } });
    expect(await listedVersions("raffle.two")).toEqual([1, 2]);
    await subscribe(app.token, "raffle.two", 2);
    expect((await publish(server, event("raffle.two", 1, raffle.example))).body).toMatchObject({
      deliveries: 0,
    });
    expect((await publish(server, event("raffle.two", 2, raffle.example))).status).toBe(400);
    const done = await publish(server, event("raffle.two", 2, { winners: ["a"] }));
    expect(done.body).toMatchObject({ deliveries: 1 });
    const [sent] = await receiver.arrived(1);
    expect(sent?.headers["onair-event-version"]).toBe("2");
    const missing = await publish(server, event("raffle.two", 3, {}));
    expect(missing.body).toMatchObject({ errors: [{ field: "version" }] });
  });

  test("gives its time to live to its deliveries", async () => {
    await put("raffle.short", { ...raffle, time_to_live_seconds: 1 });
    const receiver = ownReceiver(() => new Response(null, { status: 500 }));
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(app.token, "raffle.short", 1);
    await publish(server, event("raffle.short", 1, raffle.example));
    await receiver.arrived(1);
    await settled(server);
    // The retry would be in 5 seconds, after the time to live.
    const pending = await server.app.store.deliveries.pending();
    expect(pending.map(({ application_id }) => application_id)).not.toContain(app.id);
  });

  test("is still registered and checked after a restart", async () => {
    const data = ownDirectory();
    const first = await ownServer({ data });
    await put("raffle.kept", raffle, first);
    await first.stop();
    const second = await ownServer({ data, users });
    expect((await listed(second)).some(({ name }) => name === "raffle.kept")).toBe(true);
    expect((await publish(second, event("raffle.kept", 1, {}))).status).toBe(400);
    expect((await publish(second, event("raffle.kept", 1, raffle.example))).status).toBe(202);
  });
});

describe("a registered version", () => {
  test("may get another description, example and time to live", async () => {
    await put("raffle.changed", raffle);
    await publish(server, event("raffle.changed", 1, raffle.example));
    const changes = { description: "New.", example: { winner: "b", tickets: 9 }, time_to_live_seconds: 60 };
    const { status, body } = await put("raffle.changed", { ...raffle, ...changes });
    expect(status).toBe(200);
    expect(body.event_type).toMatchObject({ ...changes, is_published: true });
    expect((await listed()).find(({ name }) => name === "raffle.changed")).toMatchObject({
      description: "New.",
      example: changes.example,
    });
    const wrong = await put("raffle.changed", { ...raffle, example: { winner: "b" } });
    expect([wrong.status, wrong.body.errors?.[0]?.field]).toEqual([400, "example.tickets"]);
  });

  test("may be registered again with the keys of its schema in another order", async () => {
    await put("raffle.order", raffle);
    const turned = Object.fromEntries(Object.entries(raffle.schema).reverse());
    expect((await put("raffle.order", { ...raffle, schema: turned })).status).toBe(200);
  });

  test.each<[string, object]>([
    ["a field less that is required", { ...raffle.schema, required: ["winner"] }],
    ["a title", { ...raffle.schema, title: "Raffle" }],
  ])("cannot get a schema with %s", async (_, other) => {
    await put("raffle.settled", raffle);
    const { status, body } = await put("raffle.settled", { ...raffle, schema: other });
    expect([status, body.code]).toEqual([409, "conflict"]);
    expect(body.message).toContain("The schema of raffle.settled version 1 cannot change");
    expect(body.message).toContain("register version 2");
    expect(await listed()).toContainEqual({ name: "raffle.settled", ...raffle, description: "" });
    expect(
      (await publish(server, event("raffle.settled", 1, { ...raffle.example, color: "red" }))).status,
    ).toBe(400);
  });

  test("can be deleted, with its subscriptions, before an event of it was published", async () => {
    const app = await server.application({ delivery: "stream" });
    await put("raffle.gone", raffle);
    await subscribe(app.token, "raffle.gone", 1);
    expect(await remove("raffle.gone", 2)).toEqual([404, expect.any(String)]);
    expect(await remove("raffle.gone", 1)).toEqual([204, ""]);
    expect(await listedVersions("raffle.gone")).toEqual([]);
    expect((await publish(server, event("raffle.gone", 1, raffle.example))).status).toBe(400);
    const left = await json<object>(await server.get(subscriptionsPath, app.token));
    expect(left).toMatchObject({ data: [] });
    expect((await put("raffle.gone", { ...raffle, schema: { type: "object" } })).status).toBe(200);
  });

  test("cannot be deleted after an event of it was published, even without subscribers", async () => {
    await put("raffle.published", raffle);
    await publish(server, event("raffle.published", 1, raffle.example));
    expect(await remove("raffle.published", 1)).toEqual([409, expect.stringContaining("were published")]);
    expect(await listedVersions("raffle.published")).toEqual([1]);
  });
});

/** A type with a field of this pattern. */
const patterned = (pattern: string) => ({
  version: 1,
  schema: { type: "object", properties: { a: { type: "string", pattern } } },
  example: {},
});

test("a text that would take a backtracking matcher forever is refused at once", async () => {
  const type = patterned("^(a+)+$");
  expect((await put("pattern.hard", type)).status).toBe(200);
  // RegExp would run for longer than the test may.
  const { status, body } = await publish(server, event("pattern.hard", 1, { a: `${"a".repeat(5_000)}!` }));
  expect([status, body["code"]]).toEqual([400, "invalid_parameter"]);
  expect((await publish(server, event("pattern.hard", 1, { a: "a".repeat(5_000) }))).status).toBe(202);
});

test("the error for a refused pattern names it and what to do instead", async () => {
  const { body } = await put("raffle.refused", patterned("^.{501}$"));
  expect(body.errors?.[0]?.message).toMatch(/^has the pattern "\^\.\{501\}\$", .* use maxLength$/);
});

const shaped = (more: object) => ({ ...raffle, schema: { type: "object", ...more } });
const withPattern = (pattern: string) => shaped({ properties: { a: { type: "string", pattern } } });
test.each<[string, unknown, string]>([
  ["a schema of a string", { ...raffle, schema: { type: "string" } }, "schema"],
  ["an invalid schema", shaped({ properties: 1 }), "schema"],
  ["an unknown keyword", shaped({ propertees: {} }), "schema"],
  ["an invalid pattern", shaped({ patternProperties: { "(": {} } }), "schema"],
  ["a pattern that looks ahead", withPattern("(?=a)b"), "schema"],
  ["a pattern that refers to a group", withPattern("(a)\\1"), "schema"],
  ["a pattern with too many repetitions", withPattern("^(?:[ab]{100}){6}$"), "schema"],
  ["a reference to another document", shaped({ $ref: "http://127.0.0.1:9/x" }), "schema"],
  ["another draft", shaped({ $schema: "http://json-schema.org/draft-04/schema#" }), "schema"],
  ["an asynchronous schema", shaped({ $async: true }), "schema"],
  ["a schema too large", shaped({ description: "x".repeat(70_000) }), "schema"],
  ["an example that does not fit", { ...raffle, example: { winner: "a" } }, "example.tickets"],
  ["a description of two lines", { ...raffle, description: "a\nb" }, "description"],
])("an event type with %s is refused", async (_, body, field) => {
  const answer = await put("raffle.refused", body);
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_parameter"]);
  expect(answer.body.errors?.[0]?.field).toBe(field);
  const { data } = await json<{ data: { name: string }[] }>(await server.get("/public/v1/events/types"));
  expect(data.map(({ name }) => name)).not.toContain("raffle.refused");
});

test.each(["raffle", "Raffle.won", "raffle..won", ".won", "gap", `a.${"b".repeat(100)}`])(
  "the name %s is refused",
  async (name) => {
    expect((await put(name, raffle)).status).toBe(400);
  },
);

test("a built-in type cannot be registered, whatever the version, or deleted", async () => {
  expect((await put("channel.followed", { ...raffle, version: 2 })).status).toBe(409);
  const removed = await server.admin("DELETE", "/admin/v1/event-types/channel.followed?version=1");
  expect([removed.status, await json<object>(removed)]).toMatchObject([
    409,
    { message: "channel.followed is built in" },
  ]);
});

/*
 * Payloads of registered event types, checked when they are published.
 */

const good = { winner: "a", tickets: 1 };
test.each<[string, unknown, Record<string, string>]>([
  ["no fields", {}, { winner: "is required", tickets: "is required" }],
  ["wrong types", { winner: 1, tickets: "2" }, { winner: "must be string", tickets: "must be integer" }],
  ["an unknown field", { ...good, color: 1 }, { color: "is not a field of raffle.checked" }],
  [
    "a wrong type within a list",
    { ...good, prizes: [{ name: "a" }, { name: 2 }] },
    { "prizes[1].name": "must be string" },
  ],
])("a payload with %s is refused", async (_, data, problems) => {
  await put("raffle.checked", raffle);
  const { status, body } = await publish(server, event("raffle.checked", 1, data));
  expect(status).toBe(400);
  const errors = body["errors"] as { field: string; message: string }[];
  const expected = Object.entries(problems).map(([field, message]) => [`data.${field}`, message]);
  expect(errors.map(({ field, message }) => [field, message])).toEqual(expected);
});

describe("a number of a payload", () => {
  const receiver = testReceiver();
  beforeAll(async () => {
    await put("raffle.open", { version: 1, schema: { type: "object" }, example: {} });
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(app.token, "raffle.open", 1);
  });
  const publishText = (data: string) => {
    const line = JSON.stringify(event("raffle.open", 1, {})).replace('"data":{}', `"data":${data}`);
    return server.admin("POST", "/admin/v1/events", line, { "content-type": "application/json" });
  };

  test.each([
    ["too large for a double", '{"scores":[1,1e400]}', "data.scores[1]"],
    ["an integer that would be rounded", '{"by":{"id":12345678901234567890}}', "data.by.id"],
    [
      "such an integer in a field whose name is cut within a surrogate pair",
      `{"${"n".repeat(63)}😀":-9007199254740993}`,
      `data.${"n".repeat(63)}\ufffd…`,
    ],
  ])("is refused when it is %s", async (_, data, field) => {
    const message =
      "cannot be represented exactly: integers are exact up to 9007199254740991; send a larger one as a string";
    expect(await json<object>(await publishText(data))).toMatchObject({
      errors: [{ in: "body", field, message }],
    });
  });

  test.each([
    "9007199254740991",
    "0.1000000000000000055511151231257827",
    "1e20",
    "-1.2345678901234567e+25",
    "100000000000000000000000",
    "9007199254740992",
    '"12345678901234567890"',
  ])("is accepted when it is %s, which arrives unchanged", async (number) => {
    const { body } = await receiver.next(async () =>
      expect((await publishText(`{"n":[${number}]}`)).status).toBe(202),
    );
    expect(JSON.parse(body)).toMatchObject({ data: { n: [JSON.parse(number)] } });
  });
});

const endless = { type: "object", properties: { a: { allOf: [{ $ref: "#/properties/a" }] } } };

test("a payload whose check does not end is refused; its schema may be registered with an example whose check ends", async () => {
  const type = { version: 1, schema: endless, example: {} };
  const refused = await put("endless.example", { ...type, example: { a: 1 } });
  const message =
    "cannot be checked, because applying the schema of endless.example to it takes too many steps";
  expect([refused.status, refused.body.errors]).toEqual([400, [{ in: "body", field: "example", message }]]);
  expect((await put("endless.payload", type)).status).toBe(200);
  const { status, body } = await publish(server, event("endless.payload", 1, { a: 1 }));
  expect([status, body["code"]]).toEqual([400, "invalid_parameter"]);
  expect((await publish(server, event("endless.payload", 1, {}))).status).toBe(202);
});
