import { describe, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { minute } from "../../src/domain/time.ts";
import { type Delivery, deliveryLog } from "../support/delivery-log.ts";
import { userTokens } from "../support/oauth.ts";
import { settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { isOnPostgres, json, refusal } from "../support/server.ts";

const log = await deliveryLog();
const { server, clock, sent, list, first, get, retry, change, forgetBody } = log;

describe("the list", () => {
  test("shows each delivery with exactly these fields, and its attempts", async () => {
    await sent(1);
    const { data: found, message, pagination } = await list();
    expect([message, pagination]).toEqual(["OK", { cursor: "", has_more: false }]);
    expect(found).toEqual([
      {
        id: log.receiver.received.at(-1)?.headers["webhook-id"] ?? "",
        subscription_id: log.subscriptions[0] ?? "",
        event_id: expect.any(String),
        type: "kicks.gifted",
        version: 1,
        broadcaster_user_id: 1001,
        broadcaster_username: "xqcow",
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

  test("shows the failure: status, sentence, and the body of the answer", async () => {
    log.status = 500;
    await sent(1);
    const { status: state, next_attempt_at, attempts } = await first();
    expect([state, next_attempt_at]).toEqual(["pending", new Date(clock.ms + 5_000).toISOString()]);
    expect(attempts).toMatchObject([
      { outcome: "status", status: 500, error: "The answer was 500.", response: "what the receiver says" },
    ]);
  });

  test("lists the newest first, page by page, each delivery once", async () => {
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

  test("filters by subscription, event, status, type and time", async () => {
    await sent(2);
    await sent(1, "channel.followed");
    const { event_id } = await first();
    const then = new Date(clock.ms).toISOString();
    clock.advance(minute);
    log.status = 410;
    await sent(1);
    const counted = async (query: string) => (await list(query)).data.length;
    const later = new Date(clock.ms).toISOString();
    for (const [query, count] of [
      ["", 4],
      [`?subscription_id=${log.subscriptions[0]}`, 3],
      [`?subscription_id=${log.subscriptions[1]}`, 1],
      [`?subscription_id=${newId()}`, 0],
      ["?status=delivered", 3],
      ["?status=failed", 1],
      ["?status=expired", 0],
      ["?type=channel.followed", 1],
      ["?type=channel.followed&status=failed", 0],
      [`?event_id=${event_id}`, 1],
      [`?event_id=${event_id}&status=failed`, 0],
      [`?event_id=${event_id}&after=${later}`, 0],
      [`?event_id=${newId()}`, 0],
      [`?after=${later}`, 1],
      [`?before=${later}`, 3],
      [`?after=${then}&before=${later}`, 3],
      [`?before=${then}`, 0],
      [`?subscription_id=${log.subscriptions[0]}&status=delivered&after=${then}`, 2],
    ] as const) {
      expect([query, await counted(query)]).toEqual([query, count]);
    }
  });

  test("filters by failing: attempted without success, whether it is tried again or not", async () => {
    await sent(1);
    log.status = 500;
    await sent(2);
    log.status = 410;
    await sent(1);
    await sent(1); // The endpoint is disabled: this one is not attempted.
    const states = async (status: string) => (await list(`?status=${status}`)).data.map((one) => one.status);
    expect(await states("failing")).toEqual(["failed", "pending", "pending"]);
    expect(await states("pending")).toHaveLength(3);
  });

  test("the next attempt is always in the future, and not before sending to the endpoint resumes", async () => {
    log.status = 500;
    await sent(5);
    await sent(1);
    const { data: found } = await list();
    const [waiting, ...failed] = found;
    const { endpoint } = (
      await json<{ data: { endpoint: { next_attempt_at: string | null } } }>(
        await server.get("/public/v1/application", log.app.token),
      )
    ).data;
    expect(waiting?.attempts).toEqual([]);
    const times = [waiting, ...failed].map((one) => Date.parse(one?.next_attempt_at ?? ""));
    for (const at of times) expect(at).toBeGreaterThan(clock.ms);
    expect(endpoint.next_attempt_at).toBe(new Date(Math.min(...times)).toISOString());
    const operators = await json<{ next_attempt_at: string }>(
      await server.admin("GET", `/admin/v1/applications/${log.app.id}/endpoint`),
    );
    expect(operators.next_attempt_at).toBe(endpoint.next_attempt_at ?? "");
    clock.ms = Math.max(...times);
    expect((await list()).data.map(({ next_attempt_at }) => next_attempt_at)).toEqual(Array(6).fill(null));
  });

  test.skipIf(isOnPostgres)("a delivery of a deleted subscription that still waits is canceled", async () => {
    log.status = 500;
    await sent(1);
    await server.get(`${subscriptionsPath}?id=${log.subscriptions[0]}`, log.app.token, { method: "DELETE" });
    await change("UPDATE deliveries SET status = 'pending' WHERE application_id = ?", log.app.id);
    expect((await first()).status).toBe("canceled");
    expect((await list("?status=canceled")).data).toHaveLength(1);
    expect((await list("?status=pending")).data).toHaveLength(0);
  });

  test.each([
    ["after=yesterday", "after"],
    ["before=2026-02-31T00:00:61Z", "before"],
    ["after=2026-01-14T16:00:00Z&before=2026-01-14T15:00:00Z", "before"],
    ["after=2026-01-14T16:00:00Z&before=2026-01-14T16:00:00Z", "before"],
  ])("?%s is refused", async (query, field) => {
    const { status: code, errors } = await list(`?${query}`);
    expect([code, errors?.map((error) => error.field)]).toEqual([400, [field]]);
  });
});

describe("one delivery", () => {
  const one = async (id: string, token?: string) =>
    (await json<{ data: Delivery }>(await get(id, token))).data;
  const setUp = async (changes: object) => {
    const changed = await server.send("PATCH", "/public/v1/application", changes, log.app.token);
    expect(changed.status).toBe(200);
  };

  test("shows the request as it was sent; that of a success without its signature", async () => {
    await sent(1);
    const { id } = await first();
    const received = log.receiver.received.at(-1);
    const found = await one(id);
    const { "webhook-signature": signature = "", ...headers } = received?.headers ?? {};
    expect(found.request).toMatchObject({ method: "POST", url: log.receiver.url, body: received?.body });
    expect(Object.keys(found.request?.headers ?? {}).length).toBeGreaterThan(8);
    expect(headers).toMatchObject(found.request?.headers ?? {});
    expect(found.attempts).toMatchObject([{ url: log.receiver.url, response_headers: {}, signature: null }]);
    expect(JSON.stringify(found)).not.toContain(signature.split(" ")[0]?.slice(3));
  });

  test("shows the headers of a failed response, without secrets, and the signature that was sent", async () => {
    const key = "Basic c2VjcmV0OnNlY3JldA==";
    await setUp({ webhook_headers: { "X-Api-Key": key } });
    log.status = 301;
    log.headers = {
      location: "https://www.bot.example/webhook/",
      "set-cookie": "session=1",
      "x-echo": key,
      "x-long": "x".repeat(900),
    };
    await sent(1);
    const { id } = await first();
    const found = await one(id);
    const { "webhook-signature": signature, ...headers } = log.receiver.received.at(-1)?.headers ?? {};
    const [attempt] = found.attempts;
    expect(attempt).toMatchObject({ status: 301, signature });
    expect(attempt?.response_headers).toMatchObject({
      location: "https://www.bot.example/webhook/",
      "x-echo": "(secret)",
    });
    const kept = Object.entries(attempt?.response_headers ?? {})
      .flat()
      .join("");
    expect(kept.length).toBeLessThanOrEqual(1_024);
    expect(kept).not.toContain("session");
    expect(found.request?.headers["webhook-signature"]).toBe(signature ?? "");
    expect({ ...headers, "webhook-signature": signature }).toMatchObject(found.request?.headers ?? {});
    expect(JSON.stringify(found)).not.toContain(key);
  });

  test("shows its request before the first attempt", async () => {
    log.status = 410;
    await sent(1);
    await sent(1);
    const { id } = await first();
    const { attempts, next_attempt_at, request } = await one(id);
    expect([attempts, next_attempt_at]).toEqual([[], null]);
    expect(request).toMatchObject({ method: "POST", url: log.receiver.url, headers: { "webhook-id": id } });
    expect(JSON.parse(request?.body ?? "")).toMatchObject({ type: "kicks.gifted" });
    expect(request?.headers).not.toHaveProperty("webhook-timestamp");
  });

  test("shows which URL each attempt called; to a user only the origin", async () => {
    const used = [`${log.receiver.url}/?key=1`, `${log.receiver.url}/?key=2`, `${log.receiver.url}/?key=3`];
    log.status = 301;
    for (const webhook_url of used) {
      // Many servers redirect to the same path and query.
      log.headers = { location: webhook_url.replace("http:", "https:") };
      await setUp({ webhook_url });
      if (webhook_url === used[0]) await sent(1);
      await settled(server);
      await server.get("/public/v1/application/endpoint/enable", log.app.token, { method: "POST" });
      await settled(server);
    }
    const { id } = await first();
    const urls = (await one(id)).attempts.map(({ url }) => url);
    expect([...new Set(urls)]).toEqual(used);
    const { access_token } = await userTokens(server, log.app, { userId: 1001 });
    const seen = await one(id, access_token);
    const origin = `${new URL(log.receiver.url).origin}/`;
    expect([...new Set(seen.attempts.map(({ url }) => url)), seen.request?.url]).toEqual([origin, origin]);
    expect(JSON.stringify(seen)).not.toMatch(/v1,|key=/);
    const operators = await json<Delivery>(await server.admin("GET", `/admin/v1/deliveries/${id}`));
    expect(operators.attempts.at(-1)?.url).toBe(used[2]);
  });

  test("no longer shows the URL of an attempt after many changes of the URL", async () => {
    await sent(1);
    const { id } = await first();
    for (let n = 1; n <= 11; n++) {
      await setUp({ webhook_url: `${log.receiver.url}/?n=${n}` });
      const kept = (await one(id)).attempts[0]?.url;
      expect([n, kept]).toEqual([n, n <= 10 ? log.receiver.url : null]);
    }
  });

  test.skipIf(isOnPostgres)("has no body any more when that is no longer kept", async () => {
    await sent(1);
    const { id } = await first();
    await forgetBody(id);
    const { data: found } = await json<{ data: Delivery }>(await get(id));
    expect(found.request).toMatchObject({ body: null, headers: { "webhook-id": id } });
  });
});

describe("an application neither sees nor repeats deliveries of another one", () => {
  test("another application gets 404 for each id, and nothing in lists", async () => {
    await sent(1);
    const { id } = await first();
    const other = await server.application({ webhook_url: log.receiver.url });
    const before = log.receiver.received.length;
    for (const response of [
      await get(id, other.token),
      await retry(id, other.token),
      await server.get(`${subscriptionsPath}/${log.subscriptions[0]}`, other.token),
      await get(newId(), other.token),
    ]) {
      expect(await refusal(response)).toEqual([404, "not_found"]);
    }
    expect((await list("", other.token)).data).toEqual([]);
    expect((await list(`?subscription_id=${log.subscriptions[0]}`, other.token)).data).toEqual([]);
    await settled(server);
    expect(log.receiver.received.length).toBe(before);
  });

  test("a user's token sees the deliveries of events of that user", async () => {
    await subscribe(server, log.app, ["kicks.gifted"], 1002);
    await sent(1);
    await sent(2, "kicks.gifted", { broadcaster_user_id: 1002 });
    const { id } = (await list()).data[2] ?? { id: "" };
    const { access_token } = await userTokens(server, log.app, { userId: 1002 });
    expect((await list("", access_token)).data).toHaveLength(2);
    for (const response of [await get(id, access_token), await retry(id, access_token)])
      expect(response.status).toBe(404);
    expect((await server.get(`${subscriptionsPath}/${log.subscriptions[0]}`, access_token)).status).toBe(404);
  });
});
