import { describe, expect, test } from "bun:test";
import { users } from "../support/real-data.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

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

  test("are at most 20, counted after the change", async () => {
    const put = (version: number) =>
      server.admin("PUT", "/admin/v1/event-types/many.versions", {
        version,
        schema: { type: "object", properties: { a: {} } },
        example: {},
      });
    for (let version = 1; version <= 21; version++) expect((await put(version)).ok).toBe(true);
    const keyed = (from: number, to: number, condition: object | null = { a: 1 }) =>
      Object.fromEntries(
        Array.from({ length: to - from + 1 }, (_, i) => [`many.versions@${from + i}`, condition]),
      );
    const app = await server.application({});
    expect(Object.keys(await changed(app, keyed(1, 20)))).toHaveLength(20);
    clock.advance(10_000);
    expect(await refused(change(app, keyed(21, 21)))).toEqual([
      400,
      "filters may be at most 20, and would be 21",
    ]);
    expect(Object.keys(await changed(app, { ...keyed(1, 1, null), ...keyed(21, 21) }))).toHaveLength(20);
  });

  test("that the platform has locked are 403 for the developer, and not for the operator", async () => {
    const app = await server.application({ locked: ["filters"] });
    expect(await refused(change(app, { "chat.message.sent": bang }))).toEqual([
      403,
      "filters is locked: only the platform can change it",
    ]);
    expect((await operate(app, { filters: { "chat.message.sent": bang } })).status).toBe(200);
    expect(await shown(app)).toEqual({ "chat.message.sent": bang });
  });

  test("may be about event types that the platform has registered, within their schema", async () => {
    const type = {
      version: 1,
      schema: { type: "object", additionalProperties: false, properties: { tickets: { type: "integer" } } },
      example: { tickets: 3 },
    };
    expect((await server.admin("PUT", "/admin/v1/event-types/raffle.won", type)).ok).toBe(true);
    const app = await server.application({});
    const large = { "raffle.won": { tickets: { $gte: 10 } } };
    expect(await changed(app, large)).toEqual(large);
    expect(await refused(change(app, { "raffle.won": { winner: "maya" } }))).toEqual([
      400,
      'filters["raffle.won"].winner is not a field of raffle.won here; there is tickets',
    ]);
  });
});
