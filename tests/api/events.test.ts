import { expect, test } from "bun:test";
import { event, example, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { isOnPostgres, json, ndjson, ownServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// Publishing: `POST /admin/v1/events`.

const server = await testServer({ users });

test("the same id again is answered as before and sends nothing", async () => {
  const receiver = ownReceiver();
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed", "kicks.gifted"]);
  const first = await publish(server, event("channel.followed", { id: "evt-1" }));
  const again = await publish(server, event("channel.followed", { id: "evt-1" }));
  expect(first.body).toEqual({ id: "evt-1", deliveries: 1 });
  expect(again).toEqual(first);
  const other = await publish(server, event("kicks.gifted", { id: "evt-1" }));
  expect([other.status, other.body["code"]]).toEqual([409, "conflict"]);
  await publish(server, event("kicks.gifted", { id: "evt-2" }));
  await receiver.arrived(2);
  expect(receiver.received.map(({ headers }) => headers["onair-event-id"]).sort()).toEqual([
    "evt-1",
    "evt-2",
  ]);
});

/** The fields of each object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const);
  return Object.fromEntries(fields.reverse());
}

test("the same id with the fields in another order is the same event, with other items it is not", async () => {
  const one = event("channel.subscription.gifts", { id: "in-order" });
  const first = await publish(server, one);
  const turned = reversed(one) as typeof one;
  expect(JSON.stringify(turned.data)).not.toBe(JSON.stringify(one.data));
  expect(await publish(server, turned)).toEqual(first);
  const data = one.data as { giftees: unknown[] };
  const twice = { ...one, data: { ...data, giftees: [...data.giftees, ...data.giftees] } };
  expect((await publish(server, twice)).status).toBe(409);
});

test.each<[string, object, string[]]>([
  ["nothing at all", {}, ["broadcaster_user_id", "data", "name", "version"]],
  ["an unknown event", { ...event("channel.followed"), name: "channel.raided" }, ["name"]],
  ["an unknown version", { ...event("channel.followed"), version: 2 }, ["version"]],
  ["an unknown broadcaster", event("channel.followed", { broadcaster_user_id: 5 }), ["broadcaster_user_id"]],
  ["an id of another alphabet", event("channel.followed", { id: "a b" }), ["id"]],
  [
    "a payload that does not fit",
    event("channel.followed", { data: { follower: 1 } }),
    ["data.broadcaster", "data.follower"],
  ],
])("%s is refused with all wrong fields, and nothing is kept", async (_, body, fields) => {
  const answer = await publish(server, body);
  expect(answer.status).toBe(400);
  expect(answer.body["code"]).toBe("invalid_parameter");
  const errors = answer.body["errors"] as { field: string }[];
  expect(errors.map(({ field }) => field).sort()).toEqual(fields);
});

test("a preview says to how many applications an event would go by their filters, checks it, and stores nothing", async () => {
  const own = await ownServer({ users });
  const receiver = ownReceiver();
  const app = await own.application({ webhook_url: receiver.url });
  const choosy = await own.application({
    webhook_url: receiver.url,
    filters: { "chat.message.sent": { content: { $startsWith: "!" } } },
  });
  for (const one of [app, choosy]) await subscribe(own, one, ["chat.message.sent", "kicks.gifted"]);
  await subscribe(own, app, ["chat.message.sent"], 1002);
  const preview = async (body: object) => {
    const answer = await own.admin("POST", "/admin/v1/events/preview", body);
    return [answer.status, await json<object>(answer)];
  };
  const chat = (content: string) =>
    event("chat.message.sent", { data: { ...(example("chat.message.sent") as object), content } });
  expect(await preview(chat("hello"))).toEqual([200, { deliveries: 1, filtered: 1 }]);
  expect(await preview(chat("!hello"))).toEqual([200, { deliveries: 2, filtered: 0 }]);
  expect(await preview(event("kicks.gifted"))).toEqual([200, { deliveries: 2, filtered: 0 }]);
  expect(await preview(event("channel.followed"))).toEqual([200, { deliveries: 0, filtered: 0 }]);
  const wrong = await preview(event("kicks.gifted", { data: {} }));
  const refused = await publish(own, event("kicks.gifted", { data: {} }));
  expect(wrong).toMatchObject([400, { errors: refused.body["errors"] }]);
  expect(await preview(event("kicks.gifted", { broadcaster_user_id: 5 }))).toMatchObject([
    400,
    { errors: [{ field: "broadcaster_user_id", message: "is not a known user" }] },
  ]);
  // The next event is the first one of the subscription.
  const published = await receiver.next(() => publish(own, chat("hello")));
  expect(published.headers["onair-sequence"]).toBe("1");
  expect(receiver.received).toHaveLength(1);
  const { data } = await json<{ data: { action: string }[] }>(await own.admin("GET", "/admin/v1/audit"));
  expect(data.map(({ action }) => action)).not.toContain("previewEvent");
});

test("an atomic batch with a bad line keeps nothing and sends nothing; without it, all of it", async () => {
  const receiver = ownReceiver();
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["kicks.gifted"], 1002);
  const kick = (id: string, more: object = {}) =>
    event("kicks.gifted", { broadcaster_user_id: 1002, id, ...more });
  const post = async (...events: object[]) => {
    const lines = ndjson(events);
    return json<object>(await server.admin("POST", "/admin/v1/events?atomic=true", lines));
  };
  const unfit = { data: { gift: 1 } };
  expect(await post(kick("all-1"), kick("all-2", unfit), kick("all-3"))).toMatchObject({
    accepted: 0,
    rejected: 1,
    errors: [{ line: 2 }],
  });
  // Found out only inside the transaction: nothing of the first line may stay behind.
  expect(await post(kick("all-1"), kick("all-2", { broadcaster_user_id: 5 }))).toMatchObject({
    accepted: 0,
    rejected: 1,
    errors: [{ line: 2, message: "broadcaster_user_id is not a known user" }],
  });
  expect(await post(kick("all-3"), kick("all-1"))).toMatchObject({ accepted: 2, rejected: 0, errors: [] });
  const arrived = await receiver.arrived(2);
  expect(arrived.map(({ headers }) => headers["onair-event-id"]).sort()).toEqual(["all-1", "all-3"]);
  expect(arrived.map(({ headers }) => headers["onair-sequence"]).sort()).toEqual(["1", "2"]);
});

test("an atomic batch reports every wrong line, invalid JSON and invalid payloads together", async () => {
  const lines = ["{", JSON.stringify({ name: "x" }), JSON.stringify(event("kicks.gifted")), '{"data":1}'];
  const answer = await server.admin("POST", "/admin/v1/events?atomic=true", lines.join("\n"));
  const { rejected, errors } = await json<{ rejected: number; errors: { line: number }[] }>(answer);
  expect([rejected, errors.map(({ line }) => line)]).toEqual([3, [1, 2, 4]]);
});

test("a bad line in the middle is refused alone", async () => {
  const lines = [
    JSON.stringify(event("channel.followed")),
    '{"name":',
    JSON.stringify(event("channel.followed", { broadcaster_user_id: 5 })),
    "",
    "[1, 2]",
    JSON.stringify(event("kicks.gifted")),
  ];
  const response = await server.admin("POST", "/admin/v1/events", lines.join("\n"));
  expect(response.status).toBe(202);
  expect(await json<object>(response)).toEqual({
    accepted: 2,
    rejected: 3,
    ignored_fields: 0,
    errors: [
      { line: 2, message: "The line is not valid JSON" },
      { line: 3, message: "broadcaster_user_id is not a known user" },
      { line: 5, message: "The line must be an object" },
    ],
  });
});

/** A batch of events with as much text as they may have. */
function batch(number: number): string {
  const { data, ...rest } = event("kicks.gifted");
  const { gift, ...others } = data as { gift: object };
  const large = { ...others, gift: { ...gift, message: "x".repeat(2_000) } };
  const events = Array.from({ length: 200 }, (_, n) => ({ ...rest, id: `${number}.${n}`, data: large }));
  return ndjson(events);
}

test.skipIf(isOnPostgres)(
  "with all of --max-data-size pending, publishing answers 503 with advice; all else works",
  async () => {
    const server = await ownServer({ isOnSqlite: true, users, args: ["--max-data-size", "10MB"] });
    // Nothing listens there, so everything stays pending.
    const app = await server.application({ webhook_url: "http://127.0.0.1:9/" });
    const [subscription] = await subscribe(server, app, ["kicks.gifted"]);
    let published = 0;
    const events = "/admin/v1/events";
    const single = event("kicks.gifted", { id: "single" });
    const keyed = () => server.admin("POST", events, event("kicks.gifted"), { "idempotency-key": "k" });
    const firstAnswers = [await server.admin("POST", events, single), await keyed()];
    const publish = (number = published) => server.admin("POST", events, batch(number));
    let answer = await publish();
    for (; answer.status === 202; answer = await publish()) {
      if (++published > 100) throw new Error("there is no end to it");
    }
    expect(published).toBeGreaterThan(5);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await json(answer)).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(
        /^The data has its largest size \(--max-data-size, 10 MB\).*Set a larger size/,
      ),
    });
    // What is known already is answered as before: it takes no space.
    const again = [await server.admin("POST", events, single), await keyed(), await publish(0)];
    expect(again.map(({ status }) => status)).toEqual([202, 202, 202]);
    for (const [i, first] of firstAnswers.entries())
      expect(await again[i]?.json()).toEqual(await first.json());
    expect((await server.admin("POST", `${events}?atomic=true`, batch(0))).status).toBe(202);
    const mixed = `${JSON.stringify(single)}\n${batch(published)}`;
    expect((await server.admin("POST", `${events}?atomic=true`, mixed)).status).toBe(503);
    const other = { ...single, broadcaster_user_id: users[1]?.id };
    expect((await server.admin("POST", events, other)).status).toBe(409);
    expect((await server.get("/public/v1/events/deliveries", app.token)).status).toBe(200);
    // What is canceled frees space.
    const path = `/public/v1/events/subscriptions?id=${subscription}`;
    expect((await server.get(path, app.token, { method: "DELETE" })).status).toBe(204);
    await until(async () => (await publish()).status === 202);
  },
);
