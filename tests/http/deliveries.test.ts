import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import { day, hour, minute } from "../../src/domain/time.ts";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import {
  event,
  publish,
  publishAll,
  sendDue,
  settled,
  subscribe,
  subscriptionsPath,
} from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, refusal, type TestApplication, testDirectory, testServer } from "../support/server.ts";

const path = "/public/v1/events/deliveries";
const clock = new Clock();
const data = testDirectory();
let app: TestApplication;
let subscriptions: string[];
let status = 204;

interface Attempt {
  at: string;
  outcome: string;
  status: number | null;
  error: string | null;
  response: string;
  duration_ms: number;
  timings: Record<string, number | null>;
}
interface Delivery {
  id: string;
  status: string;
  type: string;
  event_id: string;
  subscription_id: string;
  created_at: string;
  next_attempt_at: string | null;
  attempts: Attempt[];
  request?: { method: string; headers: Record<string, string>; body: string | null } | null;
}
interface List {
  data: Delivery[];
  pagination: { cursor: string; has_more: boolean };
  message: string;
  code?: string;
  errors?: { field: string; message: string }[];
}

const receiver = testReceiver(() => new Response("what the receiver says", { status }));
const server = await testServer({
  clock,
  data,
  args: ["--login-url", loginUrl],
  users,
});
beforeEach(async () => {
  status = 204;
  app = await server.application({ webhook_url: receiver.url, redirect_uris: [redirectUri] });
  subscriptions = await subscribe(server, app, ["kicks.gifted", "channel.followed"]);
  clock.advance(hour);
});
afterEach(() => server.admin("DELETE", `/admin/v1/applications/${app.id}`));

/** Publishes events of broadcaster 1001, whatever the answers, and waits until they were attempted. */
async function sent(count: number, name = "kicks.gifted", more: object = {}): Promise<void> {
  await publishAll(
    server,
    Array.from({ length: count }, () => event(name, more)),
  );
  await settled(server);
}
async function list(query = "", token = app.token): Promise<List & { status: number }> {
  const response = await server.get(`${path}${query}`, token);
  return { status: response.status, ...(await json<List>(response)) };
}
async function first(query = ""): Promise<Delivery> {
  const found = (await list(query)).data[0];
  if (!found) throw new Error("there is no delivery");
  return found;
}
const get = (id: string, token = app.token) => server.get(`${path}/${id}`, token);
const retry = (id: string, token = app.token) => server.get(`${path}/${id}/retry`, token, { method: "POST" });
const change = (sql: string, ...values: (string | number)[]) => {
  const db = new Database(join(data, "onair.db"));
  db.run(sql, values);
  db.close();
};

describe("the list", () => {
  test("shows each delivery with exactly these fields, and its attempts", async () => {
    await sent(1);
    const { data: found, message, pagination } = await list();
    expect([message, pagination]).toEqual(["OK", { cursor: "", has_more: false }]);
    expect(found).toEqual([
      {
        id: receiver.received.at(-1)?.headers["webhook-id"] ?? "",
        subscription_id: subscriptions[0] ?? "",
        event_id: expect.any(String),
        type: "kicks.gifted",
        version: 1,
        sequence: 1,
        status: "delivered",
        created_at: new Date(clock.ms).toISOString(),
        next_attempt_at: null,
        expires_at: null,
        finished_at: new Date(clock.ms).toISOString(),
        attempts: [
          {
            at: new Date(clock.ms).toISOString(),
            outcome: "ok",
            status: 204,
            duration_ms: expect.any(Number),
            timings: {
              dns_ms: null,
              connect_ms: expect.any(Number),
              tls_ms: null,
              first_byte_ms: expect.any(Number),
            },
            error: null,
            response: "",
          },
        ],
      },
    ] as unknown as Delivery[]);
  });

  test("says what went wrong: status, sentence, and what the receiver answered", async () => {
    status = 500;
    await sent(1);
    const { status: state, next_attempt_at, attempts } = await first();
    expect([state, next_attempt_at]).toEqual(["pending", new Date(clock.ms + 5_000).toISOString()]);
    expect(attempts).toMatchObject([
      { outcome: "status", status: 500, error: "The answer was 500.", response: "what the receiver says" },
    ]);
  });

  test("goes newest first, page by page, each delivery once", async () => {
    await sent(7);
    const all = (await list("?limit=100")).data.map(({ id }) => id);
    expect(all).toEqual([...all].sort().reverse());
    const walked: string[] = [];
    let query = "?limit=3";
    for (let pages = 0; pages < 3; pages++) {
      const { data: page, pagination } = await list(query);
      walked.push(...page.map(({ id }) => id));
      expect(pagination.has_more).toBe(pages < 2);
      expect(pagination.cursor === "").toBe(pages === 2);
      query = `?limit=3&cursor=${pagination.cursor}`;
      await sent(1); // what comes meanwhile does not shift the pages
    }
    expect(walked).toEqual(all);
  });

  test("filters by subscription, status, type and time", async () => {
    await sent(2);
    await sent(1, "channel.followed");
    const then = new Date(clock.ms).toISOString();
    clock.advance(minute);
    status = 410;
    await sent(1);
    const counted = async (query: string) => (await list(query)).data.length;
    const later = new Date(clock.ms).toISOString();
    for (const [query, count] of [
      ["", 4],
      [`?subscription_id=${subscriptions[0]}`, 3],
      [`?subscription_id=${subscriptions[1]}`, 1],
      [`?subscription_id=${newId()}`, 0],
      ["?status=delivered", 3],
      ["?status=failed", 1],
      ["?status=expired", 0],
      ["?type=channel.followed", 1],
      ["?type=channel.followed&status=failed", 0],
      [`?after=${later}`, 1],
      [`?before=${later}`, 3],
      [`?after=${then}&before=${later}`, 3],
      [`?before=${then}`, 0],
      [`?subscription_id=${subscriptions[0]}&status=delivered&after=${then}`, 2],
    ] as const) {
      expect([query, await counted(query)]).toEqual([query, count]);
    }
  });

  test("a delivery of a deleted subscription that still waits is canceled", async () => {
    status = 500;
    await sent(1);
    await server.get(`${subscriptionsPath}?id=${subscriptions[0]}`, app.token, { method: "DELETE" });
    change("UPDATE deliveries SET status = 'pending' WHERE application_id = ?", app.id);
    expect((await first()).status).toBe("canceled");
    expect((await list("?status=canceled")).data).toHaveLength(1);
    expect((await list("?status=pending")).data).toHaveLength(0);
  });

  test.each([
    ["status=lost", "status"],
    ["after=yesterday", "after"],
    ["before=2026-02-31T00:00:61Z", "before"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1&limit=2", "limit"],
    [`type=${"x".repeat(101)}`, "type"],
  ])("?%s is refused", async (query, field) => {
    const { status: code, errors } = await list(`?${query}`);
    expect([code, errors?.map((error) => error.field)]).toEqual([400, [field]]);
  });

  test("a cursor is bound to its filter and its application, and cannot be made", async () => {
    await sent(2);
    const { cursor } = (await list("?limit=1")).pagination;
    const other = await server.application({ webhook_url: receiver.url });
    for (const [query, token] of [
      [`?limit=1&status=failed&cursor=${cursor}`, app.token],
      [`?limit=1&cursor=${cursor}`, other.token],
      [`?limit=1&cursor=x${cursor}`, app.token],
      ["?cursor=eyJ9", app.token],
    ] as const) {
      const { status: code, code: error } = await list(query, token);
      expect([query, code, error]).toEqual([query, 400, "invalid_cursor"]);
    }
    expect((await list(`?limit=2&cursor=${cursor}`)).data).toHaveLength(1);
  });
});

describe("one delivery", () => {
  test("shows the request as it was sent, without the signature", async () => {
    await sent(1);
    const { id } = await first();
    const received = receiver.received.at(-1);
    const { data: found } = await json<{ data: Delivery }>(await get(id));
    const { "webhook-signature": signature = "", ...headers } = received?.headers ?? {};
    expect(found.request?.body).toBe(received?.body ?? "");
    expect(Object.keys(found.request?.headers ?? {}).length).toBeGreaterThan(8);
    expect(headers).toMatchObject(found.request?.headers ?? {});
    expect(JSON.stringify(found)).not.toContain(signature.split(" ")[0]?.slice(3));
  });

  test("has no body any more when that is no longer kept", async () => {
    await sent(1);
    const { id, event_id } = await first();
    change("UPDATE events SET body = NULL WHERE id = ?", event_id);
    const { data: found } = await json<{ data: Delivery }>(await get(id));
    expect(found.request).toMatchObject({ body: null, headers: { "webhook-id": id } });
  });
});

describe("an application neither sees nor repeats deliveries of another one", () => {
  test("another application gets 404 for each id, and nothing in lists", async () => {
    await sent(1);
    const { id } = await first();
    const other = await server.application({ webhook_url: receiver.url });
    const before = receiver.received.length;
    for (const response of [
      await get(id, other.token),
      await retry(id, other.token),
      await server.get(`${subscriptionsPath}/${subscriptions[0]}`, other.token),
      await get(newId(), other.token),
    ]) {
      expect(await refusal(response)).toEqual([404, "not_found"]);
    }
    expect((await list("", other.token)).data).toEqual([]);
    expect((await list(`?subscription_id=${subscriptions[0]}`, other.token)).data).toEqual([]);
    await settled(server);
    expect(receiver.received.length).toBe(before);
  });

  test("a user's token sees what was sent of events of that user", async () => {
    await subscribe(server, app, ["kicks.gifted"], 1002);
    await sent(1);
    await sent(2, "kicks.gifted", { broadcaster_user_id: 1002 });
    const { id } = (await list()).data[2] ?? { id: "" };
    const { access_token } = await userTokens(server, app, { userId: 1002 });
    expect((await list("", access_token)).data).toHaveLength(2);
    for (const response of [await get(id, access_token), await retry(id, access_token)])
      expect(response.status).toBe(404);
    expect((await server.get(`${subscriptionsPath}/${subscriptions[0]}`, access_token)).status).toBe(404);
  });

  test("no answer carries a secret", async () => {
    status = 500;
    await sent(1);
    const { id } = await first();
    const answers = [
      await get(id),
      await retry(id),
      await server.get(path, app.token),
      await server.get(`${subscriptionsPath}/${subscriptions[0]}`, app.token),
    ];
    for (const answer of answers) {
      const text = await answer.text();
      for (const secret of [app.webhook_secret, app.client_secret, app.token, "whsec_"])
        expect(text).not.toContain(secret);
    }
  });
});

describe("retry", () => {
  test("sends again now with the same id, whatever became of it; attempts go on counting", async () => {
    await sent(1);
    const { id } = await first();
    const response = await retry(id);
    expect(response.status).toBe(202);
    expect((await json<{ data: Delivery }>(response)).data).toMatchObject({ id, status: "pending" });
    await settled(server);
    const [one, two] = receiver.received.slice(-2);
    expect(two?.headers).toMatchObject({ "webhook-id": id, "onair-attempt": "2" });
    expect(two?.body).toBe(one?.body ?? "");
    expect(await first()).toMatchObject({
      status: "delivered",
      attempts: [{ status: 204 }, { status: 204 }],
    });
  });

  test("does not wait for the schedule, nor for an endpoint that is held up", async () => {
    status = 500;
    await sent(6); // five failures open the circuit
    const before = receiver.received.length;
    status = 204;
    await retry((await first("?status=pending")).id);
    await settled(server);
    expect(receiver.received.length).toBeGreaterThan(before);
  });

  test("sends what had expired, whatever its age", async () => {
    const [chat = ""] = await subscribe(server, app, ["chat.message.sent"]);
    status = 500;
    await sent(1, "chat.message.sent");
    clock.advance(hour);
    await sendDue(server, app);
    const expired = await first(`?subscription_id=${chat}`);
    expect(expired.status).toBe("expired");
    status = 204;
    await retry(expired.id);
    await settled(server);
    expect((await first(`?subscription_id=${chat}`)).status).toBe("delivered");
  });

  test.each<[string, (delivery: Delivery) => unknown, string]>([
    [
      "its body is no longer kept",
      ({ event_id }) => change("UPDATE events SET body = NULL WHERE id = ?", event_id),
      "no longer kept",
    ],
    [
      "its subscription is gone",
      () => server.get(`${subscriptionsPath}?id=${subscriptions[0]}`, app.token, { method: "DELETE" }),
      "subscription was deleted",
    ],
    [
      "there is no webhook URL",
      () => server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: null }),
      "no webhook URL",
    ],
    [
      "it was attempted too often",
      ({ id }) => change("UPDATE deliveries SET attempts = 100 WHERE id = ?", id),
      "100 times",
    ],
    [
      "its endpoint is disabled",
      async () => {
        status = 410;
        await sent(1);
      },
      "endpoint is disabled",
    ],
  ])("is 409 when %s, and sends nothing", async (_, prepare, message) => {
    await sent(1);
    const delivery = await first();
    await prepare(delivery);
    const before = receiver.received.length;
    const response = await retry(delivery.id);
    const body = await json<{ code: string; message: string }>(response);
    expect([response.status, body.code]).toEqual([409, "conflict"]);
    expect(body.message).toContain(message);
    await settled(server);
    expect(receiver.received.length).toBe(before);
    expect((await json<{ data: Delivery }>(await get(delivery.id))).data.status).toBe("delivered");
  });
});

describe("a subscription's health", () => {
  const health = async () => {
    const response = await server.get(`${subscriptionsPath}/${subscriptions[0]}`, app.token);
    return json<{ data: Record<string, unknown> }>(response);
  };
  const record = () => ({
    id: subscriptions[0],
    app_id: app.id,
    broadcaster_user_id: 1001,
    event: "kicks.gifted",
    version: 1,
    method: "webhook",
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const well = {
    status: "enabled",
    disabled_reason: null,
    pending: 0,
    oldest_pending_at: null,
    last_success_at: null,
    last_failure: null,
    sequence: 0,
  };

  test("is well before anything was sent, and when it was taken", async () => {
    expect(await health()).toEqual({ data: { ...record(), ...well }, message: "OK" } as never);
    await sent(1);
    const last_success_at = new Date(clock.ms).toISOString();
    expect((await health()).data).toEqual({ ...record(), ...well, last_success_at, sequence: 1 });
  });

  test("tells of failures, and of what waits for this subscription alone", async () => {
    status = 503;
    const at = new Date(clock.ms).toISOString();
    await sent(1);
    clock.advance(day / 2);
    await sent(1);
    await sent(1, "channel.followed");
    expect((await health()).data).toMatchObject({
      status: "failing",
      pending: 2,
      oldest_pending_at: at,
      last_failure: { status: 503, error: "The answer was 503." },
      sequence: 2,
    });
  });

  test("is disabled with the reason", async () => {
    status = 410;
    await sent(1);
    expect((await health()).data).toMatchObject({ status: "disabled", disabled_reason: "gone" });
    await publish(server, event("kicks.gifted"));
    expect((await health()).data).toMatchObject({ pending: 1 });
  });

  test("is well on the event stream, where nothing is sent and nothing can be sent again", async () => {
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, {
      delivery: "stream",
      webhook_url: null,
    });
    await sent(1);
    expect((await health()).data).toMatchObject({ status: "enabled", disabled_reason: null, sequence: 1 });
    const delivery = await first();
    expect(delivery).toMatchObject({ status: "delivered", attempts: [] });
    expect((await retry(delivery.id)).status).toBe(409);
  });

  test("is disabled where the application has no webhook URL", async () => {
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: null });
    expect((await health()).data).toMatchObject({ status: "disabled", disabled_reason: "no_webhook_url" });
  });
});
