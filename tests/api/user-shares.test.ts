import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { streamPath } from "../support/event-stream.ts";
import { redirectUri, signInServer } from "../support/oauth.ts";
import { event, example, publishAll, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * What an application may have at the same time is its own: one of its users, or all of them together, can use up their
 * share, but neither the application's nor, alone, that of the other users.
 */

const clock = new Clock();
const tokens: string[] = [];

// A share of 2 for each user, of 30 for all of them, and of 30 for the application.
const { server, userTokens } = await signInServer({ clock, args: ["--stream-limit", "30", "--portal"] });
/** What the receiver waits for before it answers. */
let gate: PromiseWithResolvers<void> | null = null;
const receiver = testReceiver(async () => {
  await gate?.promise;
  return new Response(null, { status: 204 });
});
const app = await server.application({
  delivery: "both",
  webhook_url: receiver.url,
  redirect_uris: [redirectUri],
});
for (const user of users.slice(0, 20)) {
  tokens.push((await userTokens(app, { userId: user.id })).access_token);
}
beforeEach(() => clock.advance(60_000));

const user = (i: number) => tokens[i] ?? "";

describe("requests", () => {
  const limit = 10;
  const path = "/public/v1/events/subscriptions";
  beforeAll(async () => {
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: limit });
  });
  afterAll(async () => {
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: 0 });
  });
  const ask = async (token: string, path_ = path) => {
    const { status, headers } = await server.get(path_, token);
    return [status, ...["limit", "remaining"].map((name) => Number(headers.get(`ratelimit-${name}`)))];
  };
  const asked = async (token: string, times: number) => {
    const statuses: (number | undefined)[] = [];
    for (let i = 0; i < times; i++) statuses.push((await ask(token))[0]);
    return statuses;
  };

  test("of one user are at most half of the limit, and the rest is for the others and the application", async () => {
    for (const remaining of [4, 3, 2, 1, 0]) expect(await ask(user(0))).toEqual([200, 5, remaining]);
    expect(await ask(user(0))).toEqual([429, 5, 0]);
    // Also where a token is not needed.
    expect(await ask(user(0), "/public/v1/categories")).toEqual([429, 5, 0]);
    expect(await ask(user(1))).toEqual([200, 5, 4]);
    expect(await asked(app.token, 5)).toEqual([200, 200, 200, 200, 429]);
    expect(await ask(user(1))).toEqual([429, limit, 0]);
  });

  test("show the smaller of what remains for the user and for the application", async () => {
    expect(await ask(user(0))).toEqual([200, 5, 4]);
    expect(await asked(app.token, 7)).toEqual(Array(7).fill(200));
    expect(await ask(user(0))).toEqual([200, limit, 1]);
    expect(await ask(app.token)).toEqual([200, limit, 0]);
  });

  test("that the application's limit refuses take nothing from the user's share", async () => {
    await asked(app.token, limit);
    expect(await asked(user(0), 20)).toEqual(Array(20).fill(429));
    clock.advance(30_000);
    expect(await asked(user(0), 6)).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test("after a change of the limit count once by the new one", async () => {
    const change = (rate_limit: number) =>
      server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit });
    await change(20);
    expect(await ask(user(0))).toEqual([200, 10, 9]);
    await change(1);
    clock.advance(60_000);
    expect(await ask(user(0))).toEqual([200, 1, 0]);
    await change(0);
    expect(await ask(user(0))).toEqual([200, 0, 0]);
    await change(limit);
  });

  test("of the portal have a share of their own", async () => {
    const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };
    const body = new URLSearchParams({ client_id: app.client_id, client_secret: app.client_secret });
    const begun = await fetch(`${server.publicUrl}/portal/session`, { method: "POST", headers: page, body });
    const headers = { ...page, cookie: begun.headers.get("set-cookie")?.split(";")[0] ?? "" };
    const portal = () => server.get("/public/v1/application", undefined, { headers });
    await asked(app.token, limit);
    const statuses: number[] = [];
    for (let i = 0; i < limit; i++) {
      const answer = await portal();
      statuses.push(answer.status);
      expect(answer.headers.get("ratelimit-remaining")).toBe(String(limit - 1 - i));
      // The state of the application's own limit, which the portal shows.
      const { data } = await json<{ data: { rate_limit: object } }>(answer);
      expect(data.rate_limit).toEqual({ limit, remaining: 0 });
    }
    expect(statuses).toEqual(Array(limit).fill(200));
    expect((await portal()).status).toBe(429);
    clock.advance(60_000);
    for (let i = 0; i < limit; i++) await portal();
    expect(await asked(app.token, limit)).toEqual(Array(limit).fill(200));
  });
});

describe("event streams", () => {
  const open: { cancel(): Promise<void> }[] = [];
  const ask = async (token: string) => {
    const { status, body } = await server.get(streamPath, token);
    if (status === 200 && body) open.push(body.getReader());
    else await body?.cancel();
    return status;
  };
  const asked = async (token: string, times: number) => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push(await ask(token));
    return statuses;
  };

  test("of one user are at most 5 % of the limit, all users have a share, and the application its own", async () => {
    expect(await asked(user(0), 3)).toEqual([200, 200, 429]);
    expect(await json<object>(await server.get(streamPath, user(0)))).toMatchObject({
      message: "This user has 2 event streams open, which is the maximum; close one first",
    });
    expect(await asked(user(1), 3)).toEqual([200, 200, 429]);
    for (let i = 2; i < 15; i++) expect(await asked(user(i), 2)).toEqual([200, 200]);
    expect(await asked(user(15), 1)).toEqual([429]);
    expect(await asked(app.token, 31)).toEqual([...Array(30).fill(200), 429]);
    // What is closed is free again, for whom it was.
    await open[0]?.cancel();
    await until(async () => (await ask(user(0))) === 200);
    expect(await asked(app.token, 1)).toEqual([429]);
    for (const reader of open) await reader.cancel();
    await until(async () => (await ask(app.token)) === 200);
    await open.at(-1)?.cancel();
  });
});

describe("tests of the webhook", () => {
  const ask = async (token: string, times: number) => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++)
      statuses.push((await server.post("/public/v1/events/test", {}, token)).status);
    return statuses;
  };

  test("by one user are 3 a minute, by all of them 10, and by the application 10 of its own", async () => {
    expect(await ask(user(0), 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await ask(user(1), 4)).toEqual([200, 200, 200, 429]);
    expect(await ask(user(2), 3)).toEqual([200, 200, 200]);
    expect(await ask(user(3), 3)).toEqual([200, 429, 429]);
    expect(await ask(app.token, 11)).toEqual([...Array(10).fill(200), 429]);
  });

  test.each(["", "/stream"])(
    "by a user have no payload of the user's own, which would be signed as an event of anybody: %s",
    async (more) => {
      const sent = receiver.received.length;
      const body = { data: example("channel.followed") };
      const answer = await server.post(`/public/v1/events/test${more}`, body, user(0));
      expect([answer.status, receiver.received.length - sent]).toEqual([403, 0]);
      expect(await json<object>(answer)).toMatchObject({ code: "insufficient_scope" });
    },
  );
});

describe("replays", () => {
  const path = "/public/v1/events/replays";
  const at = (hours: number) => new Date(clock.ms + hours * 3_600_000).toISOString();
  const ask = async (token: string, from: number, to: number) =>
    server.post(path, { from: at(from), to: at(to) }, token);
  const statusesOf = async (answers: Promise<Response>[]) =>
    (await Promise.all(answers)).map(({ status }) => status);
  const id = async (answer: Response) => (await json<{ data: { id: string } }>(answer)).data.id;
  const cancelAll = async () => {
    const { data } = await json<{ data: { id: string }[] }>(await server.get(path, app.token));
    for (const replay of data) await server.get(`${path}/${replay.id}`, app.token, { method: "DELETE" });
  };
  // A replay waits while those before it have made so many deliveries due.
  beforeAll(async () => {
    await subscribe(server, app, ["kicks.gifted"]);
    const events = Array.from({ length: 64 }, () => event("kicks.gifted"));
    await publishAll(server, events);
    await receiver.arrived(64);
    await settled(server);
    gate = Promise.withResolvers();
    const first = await id(await ask(app.token, -0.5, 0.5));
    await until(async () => {
      const answer = await server.get(`${path}/${first}`, app.token);
      return (await json<{ data: { queued: number } }>(answer)).data.queued === 64;
    });
  });
  afterAll(() => gate?.resolve());
  beforeEach(cancelAll);

  test("of one user run one at a time, of all users 10, and of the application 3 of its own", async () => {
    for (let i = 0; i < 10; i++) expect((await ask(user(i), -2, -1)).status).toBe(202);
    expect((await ask(user(0), -4, -3)).status).toBe(409);
    expect((await ask(user(10), -2, -1)).status).toBe(409);
    expect(
      await statusesOf([ask(app.token, -4, -3), ask(app.token, -6, -5), ask(app.token, -8, -7)]),
    ).toEqual([202, 202, 202]);
    expect((await ask(app.token, -10, -9)).status).toBe(409);
  });

  test("of users do not stand in the way of the application, which stands in theirs", async () => {
    const users = [await id(await ask(user(0), -2, -1)), await id(await ask(user(1), -2, -1))];
    expect(new Set(users).size).toBe(2);
    const own = await ask(app.token, -3, 0);
    expect(own.status).toBe(202);
    const refused = await ask(user(2), -2, -1);
    expect([refused.status, (await json<{ message: string }>(refused)).message]).toEqual([
      409,
      expect.stringContaining("replay of the application"),
    ] as never);
    expect((await ask(app.token, -2, -1)).status).toBe(409);
  });

  test("of one user drop neither the bucket of the application nor that of another user", async () => {
    const old = [await id(await ask(app.token, -20, -19)), await id(await ask(user(1), -2, -1))];
    await cancelAll();
    for (let i = 0; i < 120; i++) {
      const made = await id(await ask(user(0), -2, -1));
      await server.get(`${path}/${made}`, user(0), { method: "DELETE" });
    }
    for (const one of old) expect((await server.get(`${path}/${one}`, app.token)).status).toBe(200);
    const { data } = await json<{ data: object[] }>(await server.get(path, user(0)));
    expect(data.length).toBeLessThanOrEqual(11);
  }, 120_000);
});
