import { describe, expect, test } from "bun:test";
import { metric } from "../support/metrics.ts";
import { event, example, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import {
  Clock,
  json,
  startServer,
  type TestApplication,
  testDirectory,
  testServer,
} from "../support/server.ts";

/* Filters of an application: set, changed and shown. */

const path = "/public/v1/application";
const clock = new Clock();
const server = await testServer({ clock, users });

const bang = { content: { $startsWith: "!" } };
const moderators = { sender: { identity: { badges: { type: "moderator" } } } };

type Filters = Readonly<Record<string, object>>;
const change = (app: TestApplication, filters: unknown) => server.send("PATCH", path, { filters }, app.token);
const operate = (app: TestApplication, body: object) =>
  server.admin("PATCH", `/admin/v1/applications/${app.id}`, body);

async function changed(app: TestApplication, filters: unknown): Promise<Filters> {
  clock.advance(10_000);
  const answer = await change(app, filters);
  expect(answer.status).toBe(200);
  return (await json<{ data: { filters: Filters } }>(answer)).data.filters;
}

const shown = async (app: TestApplication) => {
  const own = await json<{ data: { filters: Filters } }>(await server.get(path, app.token));
  const operators = await json<{ filters: Filters }>(
    await server.admin("GET", `/admin/v1/applications/${app.id}`),
  );
  expect(operators.filters).toEqual(own.data.filters);
  return own.data.filters;
};

async function refused(answer: Promise<Response>): Promise<[number, ...string[]]> {
  const response = await answer;
  const { errors = [] } = await json<{ errors?: { field: string; message: string }[] }>(response);
  return [response.status, ...errors.map(({ field, message }) => `${field} ${message}`)];
}

describe("filters", () => {
  test("are set, replaced and removed by type, and shown as they were given", async () => {
    const app = await server.application({});
    expect(await shown(app)).toEqual({});
    expect(await changed(app, { "chat.message.sent": bang })).toEqual({ "chat.message.sent": bang });
    const both = { "chat.message.sent": bang, "channel.followed@1": { follower: { is_verified: true } } };
    expect(await changed(app, { "channel.followed@1": both["channel.followed@1"] })).toEqual(both);
    expect(await shown(app)).toEqual(both);
    expect(await changed(app, { "chat.message.sent": moderators, "channel.followed@1": null })).toEqual({
      "chat.message.sent": moderators,
    });
    expect(await changed(app, null)).toEqual({});
    expect(await shown(app)).toEqual({});
  });

  test("are set by the operator, too, when an application is created and later", async () => {
    const app = await server.application({ filters: { "chat.message.sent": bang } });
    expect(await shown(app)).toEqual({ "chat.message.sent": bang });
    expect((await operate(app, { filters: { "chat.message.sent": moderators } })).status).toBe(200);
    expect(await shown(app)).toEqual({ "chat.message.sent": moderators });
    const name = await json<{ filters: Filters }>(await operate(app, { name: "Renamed" }));
    expect(name.filters).toEqual({ "chat.message.sent": moderators });
  });

  test("show since when each is in force, which changes only with the filter itself", async () => {
    const app = await server.application({ filters: { "chat.message.sent": bang } });
    type Times = { readonly filters_set_at: Readonly<Record<string, string>> };
    const times = async () => {
      const own = await json<{ data: Times }>(await server.get(path, app.token));
      const operators = await json<Times>(await server.admin("GET", `/admin/v1/applications/${app.id}`));
      expect(operators.filters_set_at).toEqual(own.data.filters_set_at);
      return own.data.filters_set_at;
    };
    const first = await times();
    expect(first).toEqual({ "chat.message.sent": new Date(clock.now()).toISOString() });
    await changed(app, { "chat.message.sent": bang, "channel.followed": { follower: { $exist: true } } });
    expect(await times()).toEqual({ ...first, "channel.followed": new Date(clock.now()).toISOString() });
    await changed(app, null);
    expect(await times()).toEqual({});
  });

  test("that are wrong are refused with the place of each mistake, and change nothing", async () => {
    const app = await server.application({ filters: { "chat.message.sent": bang } });
    const wrong = {
      "chat.message.sent": { content: { $startWith: "!" } },
      "chat.mesage.sent": bang,
      "channel.followed": { folower: { $exist: true } },
    };
    const places = [
      expect.stringContaining('filters["chat.message.sent"].content.$startWith is not an operator'),
      expect.stringContaining('filters["chat.mesage.sent"] is not a known event type'),
      expect.stringContaining('filters["channel.followed"].folower is not a field of channel.followed'),
    ];
    expect(await refused(change(app, wrong))).toEqual([400, ...places]);
    expect(await refused(operate(app, { filters: wrong }))).toEqual([400, ...places]);
    const create = { name: "x", filters: wrong };
    expect(await refused(server.admin("POST", "/admin/v1/applications", create))).toEqual([400, ...places]);
    const large = { "chat.message.sent": { content: "x".repeat(4_096) } };
    expect(await refused(change(app, large))).toEqual([
      400,
      'filters["chat.message.sent"] must be at most 4096 bytes as JSON, and has 4110',
    ]);
    for (const other of [3, "x", [bang], { "chat.message.sent": "!" }, { "chat.message.sent": [bang] }])
      expect((await refused(change(app, other)))[0]).toBe(400);
    expect(await shown(app)).toEqual({ "chat.message.sent": bang });
  });
});

test("a registered type that loses a field on which a filter relies is refused, until the filter is changed", async () => {
  const put = (properties: object, version = 1) => {
    const schema = { type: "object", additionalProperties: false, properties };
    return server.admin("PUT", "/admin/v1/event-types/quiz.won", { version, schema, example: {} });
  };
  const [winner, tickets] = [{ type: "string" }, { type: "integer" }];
  expect((await put({ winner, tickets })).ok).toBe(true);
  const app = await server.application({
    name: "Quiz bot",
    filters: { "quiz.won": { tickets: { $gte: 3 } } },
  });
  // Another version need not have it.
  expect((await put({ winner }, 2)).ok).toBe(true);
  for (const version of [1, 2]) {
    const removed = await server.admin("DELETE", `/admin/v1/event-types/quiz.won?version=${version}`);
    expect(removed.status).toBe(204);
  }
  for (const properties of [{ winner }, { winner, tickets: { type: "string" } }]) {
    const answer = await put(properties);
    const { code, message } = await json<{ code: string; message: string }>(answer);
    expect([answer.status, code]).toEqual([409, "conflict"]);
    expect(message).toContain(
      "The filter of the application Quiz bot relies on another schema: data.tickets",
    );
  }
  expect((await put({ tickets })).ok).toBe(true);
  expect((await server.admin("DELETE", "/admin/v1/event-types/quiz.won?version=1")).status).toBe(204);
  expect(await changed(app, { "quiz.won": null })).toEqual({});
  expect((await put({ winner })).ok).toBe(true);
});

test("events that a filter keeps away are not sent, and counted as filtered in statistics and metrics", async () => {
  const data = testDirectory();
  const clock = new Clock();
  const receiver = testReceiver();
  const first = await startServer({ data, clock, users });
  const filters = { "channel.followed": { follower: { username: "ninja_fox" } } };
  const app = await first.application({ webhook_url: receiver.url, filters });
  const all = await first.application({ webhook_url: receiver.url });
  for (const one of [app, all]) await subscribe(first, one, ["channel.followed"]);
  const followed = example("channel.followed") as { follower: object };
  const by = (username: string) => ({ ...followed, follower: { ...followed.follower, username } });
  for (const username of ["ninja_fox", "other", "another"])
    expect((await publish(first, event("channel.followed", { data: by(username) }))).status).toBe(202);
  await settled(first);
  const sequences = receiver.received.map(({ headers }) => headers["onair-sequence"]);
  expect(sequences.toSorted()).toEqual(["1", "1", "2", "3"]);
  const series = (type: string) => metric(first, `onair_deliveries_filtered_total{type="${type}"}`);
  expect([await series("channel.followed"), await series("chat.message.sent")]).toEqual([2, 0]);
  // What is counted is stored at the end.
  await first.app.stop();
  const second = await testServer({ data, clock });
  const totals = async ({ token }: TestApplication) => {
    const answer = await second.get(`${path}/statistics`, token);
    return (await json<{ data: { totals: object } }>(answer)).data.totals;
  };
  expect(await totals(app)).toMatchObject({ delivered: 1, filtered: 2, failed: 0 });
  expect(await totals(all)).toMatchObject({ delivered: 3, filtered: 0 });
});

test("an event that was not sent because of a filter says so, and no other event does", async () => {
  const filter = { follower: { username: "ninja_fox" } };
  const app = await server.application({ delivery: "stream", filters: { "channel.followed": filter } });
  const setAt = clock.ms;
  const [unsubscribed, late] = [
    await server.application({}),
    await server.application({ delivery: "stream" }),
  ];
  for (const one of [app, late]) await subscribe(server, one, ["channel.followed"]);
  const followed = example("channel.followed") as { follower: object };
  const by = (username: string) => ({ ...followed, follower: { ...followed.follower, username } });
  clock.advance(1_000);
  for (const [id, username] of [
    ["wanted", "ninja_fox"],
    ["unwanted", "other"],
  ] as const)
    await publish(server, event("channel.followed", { id, data: by(username) }));
  clock.advance(1_000);
  await change(late, { "channel.followed": filter });
  const asked = async (one: TestApplication, query: string) => {
    const answer = await server.get(`/public/v1/events/deliveries?${query}`, one.token);
    const { data, not_sent } = await json<{ data: object[]; not_sent?: string }>(answer);
    return [data.length, not_sent];
  };
  expect(await asked(app, "event_id=unwanted")).toEqual([
    0,
    `Not sent: it does not match the filter that you set on channel.followed at ${new Date(setAt).toISOString()}.`,
  ]);
  expect(await asked(app, "event_id=wanted")).toEqual([1, undefined]);
  expect(await asked(app, "event_id=wanted&status=failed")).toEqual([0, undefined]);
  expect(await asked(app, "event_id=unknown")).toEqual([0, undefined]);
  expect(await asked(app, "type=kicks.gifted")).toEqual([0, undefined]);
  expect(await asked(late, "event_id=unwanted")).toEqual([1, undefined]);
  await change(unsubscribed, { "channel.followed": filter });
  expect(await asked(unsubscribed, "event_id=unwanted")).toEqual([0, undefined]);
});

describe("Test Filter", () => {
  interface Tested {
    readonly filter: object;
    readonly tested: number;
    readonly passed: number;
    readonly results: readonly {
      readonly passes: boolean;
      readonly delivery_id: string | null;
      readonly created_at: string | null;
      readonly data: { readonly content?: string };
    }[];
  }
  const ask = (app: TestApplication, body: object) => server.post(`${path}/filters/test`, body, app.token);
  const tested = async (app: TestApplication, body: object) => {
    const answer = await ask(app, body);
    expect(answer.status).toBe(200);
    return (await json<{ data: Tested }>(answer)).data;
  };
  const chat = (content: string) =>
    publish(
      server,
      event("chat.message.sent", { data: { ...(example("chat.message.sent") as object), content } }),
    );

  test("says which of the last deliveries of the type a filter would let through, and changes nothing", async () => {
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["chat.message.sent", "channel.followed"]);
    for (const content of ["!one", "two", "!three"]) await chat(content);
    await publish(server, event("channel.followed"));
    const { results, ...counts } = await tested(app, { type: "chat.message.sent", filter: bang });
    expect(counts).toEqual({ type: "chat.message.sent", filter: bang, tested: 3, passed: 2 } as never);
    expect(results.map(({ passes, data }) => [passes, data.content])).toEqual([
      [true, "!three"],
      [false, "two"],
      [true, "!one"],
    ]);
    expect(results.every(({ delivery_id, created_at }) => delivery_id && created_at)).toBe(true);
    const two = await tested(app, { type: "chat.message.sent@1", filter: bang, limit: 2 });
    expect(two.results.map(({ data }) => data.content)).toEqual(["!three", "two"]);
    expect(await shown(app)).toEqual({});
  });

  test("tests given samples, and the application's own filter by default", async () => {
    const app = await server.application({ filters: { "chat.message.sent": bang } });
    const samples = [{ content: "!a" }, { content: "b" }];
    const type = "chat.message.sent";
    expect(await tested(app, { type, samples })).toEqual({
      type,
      filter: bang,
      tested: 2,
      passed: 1,
      results: [
        { passes: true, delivery_id: null, created_at: null, data: { content: "!a" } },
        { passes: false, delivery_id: null, created_at: null, data: { content: "b" } },
      ],
    } as never);
    expect((await tested(app, { type, samples, filter: { content: "b" } })).passed).toBe(1);
    expect(await tested(app, { type })).toMatchObject({ tested: 0, passed: 0, results: [] });
  });

  test("refuses a wrong filter with its place, an unknown type, and one without a filter", async () => {
    const app = await server.application({});
    const wrong = {
      type: "chat.message.sent",
      filter: { content: { $startWith: "!" }, sender: { name: "x" } },
    };
    expect(await refused(ask(app, wrong))).toEqual([
      400,
      expect.stringContaining("filter.content.$startWith is not an operator"),
      expect.stringContaining("filter.sender.name is not a field of chat.message.sent"),
    ]);
    expect(await refused(ask(app, { type: "chat.message" }))).toEqual([
      400,
      expect.stringContaining("type is not a known event type"),
    ]);
    expect(await refused(ask(app, { type: "chat.message.sent" }))).toEqual([
      400,
      "filter is required, because the application has no filter for this type",
    ]);
    const many = Array.from({ length: 21 }, () => ({}));
    expect((await refused(ask(app, { type: "chat.message.sent", filter: bang, samples: many })))[0]).toBe(
      400,
    );
  });

  test("shows only the application's own deliveries", async () => {
    const [app, other] = [await server.application({ delivery: "stream" }), await server.application({})];
    await subscribe(server, app, ["chat.message.sent"]);
    await chat("!secret");
    expect(await tested(other, { type: "chat.message.sent", filter: bang })).toMatchObject({ tested: 0 });
  });

  test("is there for operators, too, and is no change in the audit log", async () => {
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["chat.message.sent"]);
    for (const content of ["!one", "two"]) await chat(content);
    const type = "chat.message.sent";
    const ask = (body: object, id = app.id) =>
      server.admin("POST", `/admin/v1/applications/${id}/filters/test`, body);
    expect(await json<object>(await ask({ type, filter: bang }))).toEqual(
      await tested(app, { type, filter: bang }),
    );
    const wrong = { type, filter: { content: { $startWith: "!" } } };
    expect((await refused(ask(wrong)))[0]).toBe(400);
    expect((await ask({ type, filter: bang }, "01KATHZX5M9S3E6R8B2D4F7G1H")).status).toBe(404);
    const audit = `/admin/v1/audit?object=applications&object_id=${app.id}`;
    const { data } = await json<{ data: { action: string }[] }>(await server.admin("GET", audit));
    expect(data.map(({ action }) => action)).not.toContain("testFilter");
  });
});
