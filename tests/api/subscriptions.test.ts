import { describe, expect, test } from "bun:test";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { newId, ulidPattern } from "../../src/domain/ids.ts";
import { users } from "../support/real-data.ts";
import { json, type TestApplication, testServer } from "../support/server.ts";

const path = "/public/v1/events/subscriptions";
const webhook_url = "http://127.0.0.1:9/hook";
const ulid = new RegExp(ulidPattern);

const server = await testServer({ users, engineThread: true });

interface Item {
  name: string;
  version: number;
  subscription_id?: string;
  error?: string;
}
interface Answer {
  data: Item[];
  message: string;
  code?: string;
  errors?: { field: string; message: string }[];
}

const follow = { name: "channel.followed", version: 1 };
const chat = { name: "chat.message.sent", version: 1 };

async function subscribe(
  app: TestApplication,
  events: unknown,
  more: object = { broadcaster_user_id: 1001 },
) {
  const response = await server.post(path, { events, ...more }, app.token);
  return { status: response.status, headers: response.headers, body: await json<Answer>(response) };
}
async function listed(app: TestApplication) {
  const response = await server.get(path, app.token);
  expect(response.status).toBe(200);
  return json<{ data: Record<string, unknown>[]; message: string }>(response);
}
const newApp = (fields: object = {}) => server.application({ webhook_url, ...fields });

describe("POST", () => {
  test("gives one result for each event, in order", async () => {
    const app = await newApp();
    const { status, body } = await subscribe(app, [
      follow,
      { name: "nope", version: 1 },
      chat,
      { ...follow, version: 7 },
    ]);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        { ...follow, subscription_id: expect.stringMatching(ulid) },
        { name: "nope", version: 1, error: expect.stringContaining("no event with this name") },
        { ...chat, subscription_id: expect.stringMatching(ulid) },
        { ...follow, version: 7, error: "Event channel.followed has no version 7" },
      ],
      message: "OK",
    });
    expect((await listed(app)).data).toHaveLength(2);
  });

  test("again gives the subscription that exists, also within one request", async () => {
    const app = await newApp();
    const first = await subscribe(app, [follow, follow]);
    const again = await subscribe(app, [follow]);
    const ids = [...first.body.data, ...again.body.data].map(({ subscription_id }) => subscription_id);
    expect(new Set(ids).size).toBe(1);
    expect((await listed(app)).data).toHaveLength(1);
  });

  test("many at the same time give one subscription", async () => {
    const app = await newApp();
    const answers = await Promise.all(Array.from({ length: 20 }, () => subscribe(app, [follow])));
    expect(new Set(answers.map(({ body }) => body.data[0]?.subscription_id)).size).toBe(1);
  });

  test("another broadcaster, event or application is another subscription", async () => {
    const [one, two] = [await newApp(), await newApp()];
    const ids = [
      await subscribe(one, [follow]),
      await subscribe(one, [follow], { broadcaster_user_id: 1002 }),
      await subscribe(one, [chat]),
      await subscribe(two, [follow]),
    ].map(({ body }) => body.data[0]?.subscription_id);
    expect(new Set(ids).size).toBe(4);
  });

  test.each<[string, object, object, string]>([
    ["no broadcaster", {}, {}, "broadcaster_user_id is required"],
    ["null for a broadcaster", {}, { broadcaster_user_id: null }, "broadcaster_user_id is required"],
    ["an unknown broadcaster", {}, { broadcaster_user_id: 5 }, "broadcaster_user_id 5 is not a known user"],
    ["no webhook URL", { webhook_url: null }, { broadcaster_user_id: 1001 }, "no webhook URL"],
    [
      "the limit reached",
      { subscription_limit: 0 },
      { broadcaster_user_id: 1001 },
      "limit of 0 subscriptions",
    ],
  ])("%s fails the item, and so the whole request", async (_, fields, more, message) => {
    const app = await newApp(fields);
    const { status, body } = await subscribe(app, [follow, chat], more);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: "subscription_failed", request_id: expect.any(String) });
    expect(body.message).toContain(message);
    expect(body.data).toEqual(
      [follow, chat].map((event) => ({ ...event, error: expect.stringContaining(message) })),
    );
    expect(body.errors?.map(({ field }) => field)).toEqual(["events[0]", "events[1]"]);
    expect((await listed(app)).data).toEqual([]);
  });

  test("the limit fails only the items beyond it, and a deletion frees a subscription", async () => {
    const app = await newApp({ subscription_limit: 2 });
    const { status, headers, body } = await subscribe(
      app,
      builtInEventTypes.slice(0, 3).map(({ name, version }) => ({ name, version })),
    );
    expect(status).toBe(200);
    expect(body.data.map((item) => "subscription_id" in item)).toEqual([true, true, false]);
    expect(headers.get("onair-subscriptions-used")).toBe("2");
    expect(headers.get("onair-subscriptions-limit")).toBe("2");
    await server.get(`${path}?id=${body.data[0]?.subscription_id}`, app.token, { method: "DELETE" });
    const later = await subscribe(app, [{ name: "kicks.gifted", version: 1 }]);
    expect(later.status).toBe(200);
  });

  test("method may be left out or be webhook, and nothing else", async () => {
    const app = await newApp();
    expect((await subscribe(app, [follow], { broadcaster_user_id: 1001, method: "webhook" })).status).toBe(
      200,
    );
    for (const method of ["websocket", "Webhook", "", null, 1]) {
      const { status, body } = await subscribe(app, [follow], { broadcaster_user_id: 1001, method });
      expect([method, status, body.code]).toEqual([method, 400, "invalid_parameter"]);
      expect(body.errors?.map(({ field }) => field)).toEqual(["method"]);
    }
  });

  test.each(["1.0", "1e0"])("a version %s is the integer 1: in JSON they are one number", async (version) => {
    const { token } = await newApp();
    const body = `{"events":[{"name":"channel.followed","version":${version}}],"broadcaster_user_id":1001.0}`;
    const headers = { "content-type": "application/json" };
    const answer = await server.get(path, token, { method: "POST", headers, body });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"version":1,')]);
  });

  test.each<[string, unknown, object, string[]]>([
    ["an empty list", [], {}, ["events"]],
    ["51 events", Array.from({ length: 51 }, () => follow), {}, ["events"]],
    ["an event without a version", [{ name: "x" }], {}, ["events[0].version"]],
    ["a version as text", [{ name: "x", version: "1" }], {}, ["events[0].version"]],
    ["a version with a fraction", [{ name: "x", version: 1.5 }], {}, ["events[0].version"]],
    [
      "everything at once",
      [{ name: 1 }],
      { method: 1, broadcaster_user_id: -1 },
      ["events[0].name", "events[0].version", "method", "broadcaster_user_id"],
    ],
  ])("%s is refused with the fields named", async (_, events, more, fields) => {
    const app = await newApp();
    const { status, body } = await subscribe(app, events, more);
    expect(status).toBe(400);
    expect(body.code).toBe("invalid_parameter");
    expect(body.errors?.map(({ field }) => field).sort()).toEqual(fields.sort());
    expect((await listed(app)).data).toEqual([]);
  });
});

describe("GET", () => {
  test("shows a new subscription, with exactly the fields of a record", async () => {
    const app = await newApp();
    const { body } = await subscribe(app, [follow]);
    const used = (await server.get(path, app.token)).headers.get("onair-subscriptions-used");
    expect(used).toBe("1");
    const { data, message } = await listed(app);
    expect(message).toBe("OK");
    expect(data).toEqual([
      {
        id: body.data[0]?.subscription_id,
        app_id: app.id,
        broadcaster_user_id: 1001,
        event: "channel.followed",
        version: 1,
        method: "webhook",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
  });

  test("shows the budget, and no other application's subscriptions", async () => {
    const [mine, theirs] = [await newApp(), await newApp()];
    await subscribe(theirs, [follow]);
    const response = await server.get(path, mine.token);
    expect(await json<Answer>(response)).toEqual({ data: [], message: "OK" });
    expect(response.headers.get("onair-subscriptions-used")).toBe("0");
    expect(response.headers.get("onair-subscriptions-limit")).toBe("10000");
  });
});

describe("DELETE", () => {
  const remove = (app: TestApplication, query: string) =>
    server.get(`${path}?${query}`, app.token, { method: "DELETE" });

  test("204 without a body; repeated, unknown and foreign ids change nothing", async () => {
    const [mine, theirs] = [await newApp(), await newApp()];
    const { body } = await subscribe(mine, [follow, chat]);
    const other = (await subscribe(theirs, [follow])).body.data[0]?.subscription_id;
    const id = body.data[0]?.subscription_id;
    for (const query of [`id=${id}`, `id=${id}`, `id=${newId()}`, "id=nonsense", `id=${other}`]) {
      const response = await remove(mine, query);
      expect([query, response.status, await response.text()]).toEqual([query, 204, ""]);
    }
    expect((await listed(mine)).data).toHaveLength(1);
    expect((await listed(theirs)).data).toHaveLength(1);
  });

  test.each(["repeated", "comma"])("takes several ids, %s", async (way) => {
    const app = await newApp();
    const { body } = await subscribe(app, [follow, chat, { name: "kicks.gifted", version: 1 }]);
    const [a, b] = body.data.map(({ subscription_id }) => subscription_id);
    expect((await remove(app, way === "comma" ? `id=${a},${b}` : `id=${a}&id=${b}`)).status).toBe(204);
    expect((await listed(app)).data).toHaveLength(1);
  });

  // `inputs.test.ts` has every fault of a list.
  test.each([
    ["", "is required"],
    ["id=,", "must have 1 to 50 values, repeated or separated by commas"],
    ["id=%FF", "is not valid percent-encoding"],
  ])("?%s is 400", async (query, message) => {
    const response = await remove(await newApp(), query);
    expect(response.status).toBe(400);
    expect((await json<Answer>(response)).errors).toMatchObject([{ field: "id", message }]);
  });
});
