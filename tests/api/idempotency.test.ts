import { beforeEach, expect, test } from "bun:test";
import { event as eventOf, subscribe } from "../support/publishing.ts";
import { RawClient } from "../support/raw-client.ts";
import { ownReceiver, type Receiver } from "../support/receiver.ts";
import { adminKey, Clock, json, ownServer, type TestServer } from "../support/server.ts";

// Publishing with an `Idempotency-Key`.

let clock: Clock;
let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  clock = new Clock();
  const users = [1, 2].map((id) => ({ id, username: `user_${id}` }));
  server = await ownServer({ clock, users, hasInternalErrors: true });
  receiver = ownReceiver();
  await subscribe(server, await server.application({ webhook_url: receiver.url }), ["channel.followed"], 1);
});

const event = (fields: object = {}) => eventOf("channel.followed", { broadcaster_user_id: 1, ...fields });
const send = (key: string, body: string, type = "application/json") =>
  server.admin("POST", "/admin/v1/events", body, { "content-type": type, "idempotency-key": key });
const one = JSON.stringify(event());
const unknownUser = JSON.stringify(event({ broadcaster_user_id: 99 }));
const many = [one, "{", one, unknownUser].join("\n");

test.each([
  ["one event", one, "application/json", 1],
  ["NDJSON", many, "application/x-ndjson", 2],
])("%s: the same again is answered as before and sends nothing", async (_, body, type, sent) => {
  const before = receiver.received.length;
  const first = await send("key-1", body, type);
  const text = await first.text();
  expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([202, null]);
  for (let i = 0; i < 3; i++) {
    clock.advance(3_600_000);
    const again = await send("key-1", body, type);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect([again.status, await again.text()]).toEqual([202, text]);
  }
  await receiver.arrived(before + sent);
  // One more event arrives behind whatever was sent before it.
  await send("key-2", one);
  expect(await receiver.arrived(before + sent + 1)).toHaveLength(before + sent + 1);
  const ids = receiver.received.slice(before).map(({ headers }) => headers["onair-event-id"]);
  expect(new Set(ids).size).toBe(sent + 1);
  expect(receiver.received.map(({ headers }) => Number(headers["onair-sequence"])).sort()).toEqual(
    sent === 1 ? [1, 2] : [1, 2, 3],
  );
});

test("two at once send one", async () => {
  const before = receiver.received.length;
  const answers = await Promise.all(Array.from({ length: 5 }, () => send("key-1", one)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(new Set(texts).size).toBe(1);
  const replayed = answers.map(({ headers }) => headers.get("idempotent-replayed"));
  expect(replayed.filter((one) => one === null)).toHaveLength(1);
  await send("key-2", one);
  await receiver.arrived(before + 2);
  expect(receiver.received).toHaveLength(before + 2);
});

test("another body is a conflict that names the key and sends nothing", async () => {
  expect((await send("key-1", one)).status).toBe(202);
  const other = await send("key-1", JSON.stringify(event({ broadcaster_user_id: 2 })));
  expect([other.status, await json<object>(other)]).toMatchObject([
    409,
    {
      code: "conflict",
      message:
        "The Idempotency-Key key-1, first used at 2026-01-14T16:00:00.000Z, belongs to another body: send this one with another key",
    },
  ]);
});

test("a key is remembered for 7 days", async () => {
  const first = await (await send("key-1", one)).text();
  clock.advance(7 * 86_400_000 - 1);
  expect(await server.app.store.idempotency.removeExpired(clock.ms)).toBe(0);
  expect(await (await send("key-1", one)).text()).toBe(first);
  clock.advance(1);
  const later = await send("key-1", one);
  expect([later.status, (await later.text()) === first]).toEqual([202, false]);
  clock.advance(8 * 86_400_000);
  expect(await server.app.store.idempotency.removeExpired(clock.ms)).toBe(1);
});

test("a request that was refused may come again corrected", async () => {
  expect((await send("key-1", JSON.stringify(event({ broadcaster_user_id: 99 })))).status).toBe(400);
  expect((await send("key-1", "{")).status).toBe(400);
  expect((await send("key-1", one)).status).toBe(202);
});

test("a batch of which nothing was taken may come again, also corrected", async () => {
  const type = "application/x-ndjson";
  const atomic = (body: string) =>
    server.admin("POST", "/admin/v1/events?atomic=true", body, { "idempotency-key": "key-1" });
  const report = async (answer: Response) => json<object>(answer);
  const refused = { accepted: 0, rejected: 1 };
  expect(await report(await atomic(`${one}\n${unknownUser}`))).toMatchObject(refused);
  expect(await report(await send("key-1", unknownUser, type))).toMatchObject(refused);
  await server.load("users", [{ id: 99, username: "user_99" }]);
  const taken = await atomic(`${one}\n${unknownUser}`);
  expect(taken.headers.get("idempotent-replayed")).toBeNull();
  expect(await report(taken)).toMatchObject({ accepted: 2, rejected: 0 });
  expect((await send("key-1", one, type)).status).toBe(409);
});

/** Has the first refusals wait before their key is forgotten: `come` resolves when one waits, `goOn` ends that. */
function slowRefusals(many: number) {
  const { idempotency } = server.app.store;
  const { release } = idempotency;
  const refusals = Array.from({ length: many }, () => ({
    come: Promise.withResolvers<void>(),
    goOn: Promise.withResolvers<void>(),
  }));
  const left = refusals.values();
  Object.assign(idempotency, {
    async release(...given: Parameters<typeof release>) {
      const refusal = left.next().value;
      refusal?.come.resolve();
      await refusal?.goOn.promise;
      return release(...given);
    },
  });
  return refusals;
}

test("a refusal that ends late forgets nothing of the corrected request under its key", async () => {
  const refusals = slowRefusals(2);
  const refused = [send("key-1", unknownUser), send("key-1", unknownUser)];
  for (const { come } of refusals) await come.promise;
  refusals[0]?.goOn.resolve();
  expect((await Promise.race(refused)).status).toBe(400);
  const text = await (await send("key-1", one)).text();
  refusals[1]?.goOn.resolve();
  expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([400, 400]);
  const again = await send("key-1", one);
  expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", text]);
});

test.each(["noted", "given"])(
  "a late refusal does not release the same request whose answer is about to be %s",
  async (moment) => {
    const [refusal] = slowRefusals(1);
    const refused = send("key-1", unknownUser);
    await refusal?.come.promise;
    await server.load("users", [{ id: 99, username: "user_99" }]);
    const { idempotency } = server.app.store;
    const { finish } = idempotency;
    const endRefusal = async () => {
      refusal?.goOn.resolve();
      expect((await refused).status).toBe(400);
    };
    Object.assign(idempotency, {
      async finish(...given: Parameters<typeof finish>) {
        if (moment === "noted") await endRefusal();
        const isFirst = await finish(...given);
        if (moment === "given") await endRefusal();
        return isFirst;
      },
    });
    const text = await (await send("key-1", unknownUser)).text();
    const again = await send("key-1", unknownUser);
    expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", text]);
  },
);

test("a request whose answer was never stored, as after a crash, is repeated without a second delivery", async () => {
  const before = receiver.received.length;
  const first = await send("key-1", many, "application/x-ndjson");
  const text = await first.text();
  await receiver.arrived(before + 2);
  const { store } = server.app;
  // As if the process had ended before `finish`.
  const forget = store.idempotency.finish;
  Object.assign(store.idempotency, { finish: () => Promise.reject(new Error("crash")) });
  expect((await send("key-2", many, "application/x-ndjson")).status).toBe(500);
  Object.assign(store.idempotency, { finish: forget });
  await receiver.arrived(before + 4);
  const again = await send("key-2", many, "application/x-ndjson");
  expect([again.status, await again.text()]).toEqual([202, text]);
  await send("key-3", one);
  await receiver.arrived(before + 5);
  expect(receiver.received).toHaveLength(before + 5);
});

test("an invalid key is refused, together with the errors of the query", async () => {
  for (const key of ["", "with space", "x".repeat(256), "ü"]) {
    const headers = { "idempotency-key": Buffer.from(key).toString("latin1") };
    const answer = await server.admin("POST", "/admin/v1/events?atomic=yes", {}, headers);
    const { errors } = await json<{ errors: object[] }>(answer);
    expect([key, answer.status, errors]).toMatchObject([
      key,
      400,
      [
        { in: "query", field: "atomic" },
        { in: "header", field: "Idempotency-Key" },
      ],
    ]);
  }
});

test("a batch with a key has at most 8 MiB, and is refused before it was read", async () => {
  const head = [
    "POST /admin/v1/events HTTP/1.1",
    `Host: ${new URL(server.adminUrl).host}`,
    `Authorization: Bearer ${adminKey}`,
    "Content-Type: application/x-ndjson",
    `Content-Length: ${8 * 1024 * 1024 + 1}`,
    "Idempotency-Key: key-1",
  ];
  // The body itself would be sent and refused in one process, which takes seconds at times.
  const client = new RawClient(server.adminUrl).send(`${head.join("\r\n")}\r\n\r\n`);
  const [answer] = await client.answers(1, "POST");
  client.socket.destroy();
  const message = "With an Idempotency-Key a batch may have at most 8 MiB";
  expect([answer?.status, JSON.parse(answer?.body ?? "")]).toMatchObject([
    413,
    { code: "body_too_large", message },
  ]);
});
