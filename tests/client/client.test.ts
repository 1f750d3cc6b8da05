import { describe, expect, jest, spyOn, test } from "bun:test";
import { sleep } from "../../src/client/http.ts";
import { createClient, OnairError, type Session } from "../../src/client/onair.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { ownListener } from "../support/listener.ts";
import { categories, users } from "../support/real-data.ts";
import { ownServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** The client against a running server, and against stubs for faults that a real server does not produce on demand. */

const server = await testServer();
await server.load("users", users);
await server.load("categories", categories);
const app = await server.application();
const url = server.publicUrl;
const credentials = { url, clientId: app.client_id, clientSecret: app.client_secret };
const username = users[0]?.username ?? "";
const user = { params: { path: { username } } };

/** Counts the requests to a path. */
function counting() {
  const paths: string[] = [];
  return {
    of: (path: string) => paths.filter((one) => one === path).length,
    fetch(request: Request) {
      paths.push(new URL(request.url).pathname);
      return fetch(request);
    },
  };
}

describe("tokens", () => {
  test("are fetched on demand, once for concurrent requests", async () => {
    const counted = counting();
    const onair = createClient({ ...credentials, fetch: counted.fetch });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => onair.get("/public/v1/users/{username}", user)),
    );
    expect(answers.map(({ user: found }) => found.username)).toEqual(Array(5).fill(username));
    expect(counted.of("/oauth/token")).toBe(1);
  });

  test("that were revoked are renewed, and the request is repeated", async () => {
    const sessions: Session[] = [];
    const onair = createClient({ ...credentials, saveSession: (session) => void sessions.push(session) });
    await onair.get("/public/v1/users/{username}", user);
    await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
    const found = await Promise.all([
      onair.get("/public/v1/users/{username}", user),
      onair.get("/public/v1/users/{username}", user),
    ]);
    expect(found).toHaveLength(2);
    expect(new Set(sessions.map(({ accessToken }) => accessToken)).size).toBe(2);
    expect(sessions).toHaveLength(2);
  });

  test("are not renewed endlessly when the server refuses every one", async () => {
    const asked: string[] = [];
    const refusing = ownListener(({ url }) => {
      const { pathname } = new URL(url);
      asked.push(pathname);
      const token = { access_token: `token-${asked.length}`, expires_in: 3600 };
      return pathname === "/oauth/token"
        ? Response.json(token)
        : Response.json({ message: "No" }, { status: 401 });
    });
    const onair = createClient({ url: refusing.url, clientId: "a", clientSecret: "b" });
    await expect(onair.get("/public/v1/events/subscriptions")).rejects.toMatchObject({ status: 401 });
    expect(asked.filter((path) => path === "/oauth/token")).toHaveLength(3);
  });

  test("of an earlier run are used while they are valid, and renewed before they expire", async () => {
    let session: Session | null = null;
    const saveSession = (next: Session) => {
      session = next;
    };
    await createClient({ ...credentials, saveSession }).get("/public/v1/users/{username}", user);
    const kept = session as Session | null;
    if (!kept) throw new Error("no session");
    const counted = counting();
    const options = { ...credentials, saveSession, fetch: counted.fetch };
    await createClient({ ...options, session: kept }).get("/public/v1/users/{username}", user);
    expect(counted.of("/oauth/token")).toBe(0);
    const expiring = { ...kept, expiresAt: Date.now() + 30_000 };
    await createClient({ ...options, session: expiring }).get("/public/v1/users/{username}", user);
    expect(counted.of("/oauth/token")).toBe(1);
  });

  test("that could not be saved are kept, because the refresh token before them is used up", async () => {
    const asked: (string | null)[] = [];
    const fetch = async (request: Request) => {
      if (new URL(request.url).pathname !== "/oauth/token") return Response.json({ categories: [] });
      asked.push(new URLSearchParams(await request.text()).get("refresh_token"));
      const tokens = { access_token: `at-${asked.length}`, refresh_token: `rt-${asked.length}` };
      return Response.json({ ...tokens, expires_in: 3600 });
    };
    const saved: Session[] = [];
    let isDiskFull = true;
    const onair = createClient({
      url,
      clientId: "a",
      session: { accessToken: "at-0", refreshToken: "rt-0", expiresAt: 0 },
      saveSession(session) {
        if (isDiskFull) throw new Error("No space left");
        saved.push(session);
      },
      fetch,
    });
    for (let i = 0; i < 2; i++)
      await expect(onair.get("/public/v1/categories")).rejects.toThrow("No space left");
    isDiskFull = false;
    await onair.get("/public/v1/categories");
    expect(asked).toEqual(["rt-0"]);
    expect(saved).toMatchObject([{ accessToken: "at-1", refreshToken: "rt-1" }]);
  });

  test("are requested again when the answer is lost, so that other requests are not blocked", async () => {
    const limits: [ms: number, controller: AbortController][] = [];
    using _ = spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const controller = new AbortController();
      limits.push([ms, controller]);
      return controller.signal;
    });
    let asked = 0;
    const onair = createClient({
      ...credentials,
      fetch(request) {
        if (!request.url.endsWith("/oauth/token") || ++asked > 1) return fetch(request);
        return new Promise((_, reject) => {
          request.signal.addEventListener("abort", () => reject(request.signal.reason));
        });
      },
    });
    const first = onair.get("/public/v1/users/{username}", user);
    await until(() => limits.length === 1);
    limits[0]?.[1].abort(new Error("No answer in time"));
    await expect(first).rejects.toThrow("No answer in time");
    expect(limits[0]?.[0]).toBe(30_000);
    expect(await onair.get("/public/v1/users/{username}", user)).toMatchObject({ user: { username } });
  });

  test("have the requested scopes", async () => {
    const onair = createClient({ ...credentials, scopes: ["users:read"] });
    const refused = onair.get("/public/v1/events/subscriptions");
    await expect(refused).rejects.toMatchObject({
      name: "OnairError",
      status: 403,
      code: "insufficient_scope",
    });
  });

  test("a wrong secret is an error that does not name it", async () => {
    const onair = createClient({ ...credentials, clientSecret: "onair_cs_wrong" });
    const error = await onair.get("/public/v1/users/{username}", user).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "OnairError", status: 401, code: "invalid_client" });
    expect(JSON.stringify(error.details) + error.message).not.toContain("onair_cs_wrong");
  });

  test("are not required for public routes; without one, other routes are refused", async () => {
    const onair = createClient({ url });
    expect((await onair.get("/public/v1/categories")).categories.length).toBeGreaterThan(0);
    const refused = onair.get("/public/v1/users/{username}", user);
    await expect(refused).rejects.toMatchObject({ status: 401, code: "missing_token" });
    expect(() => createClient({ url, clientId: "x" })).toThrow(TypeError);
    expect(() => createClient({ url, clientSecret: "x" })).toThrow("a client secret needs the client id");
    const unset = { clientId: undefined, clientSecret: undefined };
    expect(() => createClient({ url, ...unset })).toThrow("are their environment variables set?");
    for (const token of ["…", "two\nlines"])
      expect(() => createClient({ url, token })).toThrow("the access token has invalid characters");
    for (const wrong of ["", "api.example.com", "ftp://api.example.com", undefined as unknown as string])
      expect(() => createClient({ url: wrong })).toThrow("url must be the URL of the platform");
  });
});

describe("answers", () => {
  test("an error has message, code, fields and request id", async () => {
    const onair = createClient(credentials);
    const query = { query: "ab", limit: 101 };
    const error = await onair.get("/public/v1/users/search", { params: { query } }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OnairError);
    expect(error).toMatchObject({
      status: 400,
      code: "invalid_parameter",
      details: {
        requestId: expect.stringMatching(/^[0-9A-Z]{26}$/),
        errors: [{ field: "query" }, { field: "limit" }],
      },
    });
  });

  test("pages are an iterator that follows the cursors", async () => {
    const onair = createClient({ url });
    const ids: number[] = [];
    let pages = 0;
    for await (const page of onair.pages("/public/v1/categories", { params: { query: { limit: 3 } } })) {
      pages++;
      ids.push(...page.categories.map(({ id }) => id));
    }
    expect(pages).toBe(Math.ceil(categories.length / 3));
    expect(new Set(ids)).toEqual(new Set(categories.map(({ id }) => id)));
    expect(ids).toHaveLength(categories.length);
  });

  test("no body is undefined", async () => {
    const onair = createClient(credentials);
    const query = { id: ["01KATHZX5M9S3E6R8B2D4F7G1H", "01KATHZX5M9S3E6R8B2D4F7G1J"] };
    expect(await onair.delete("/public/v1/events/subscriptions", { params: { query } })).toBeUndefined();
  });
});

describe("a server that is busy", () => {
  /** A server that answers with these statuses in turn, then with 200. */
  const busy = (statuses: readonly number[], headers: Record<string, string> = { "retry-after": "0" }) => {
    const asked: { at: number; body: string }[] = [];
    const listener = ownListener(async (request) => {
      asked.push({ at: performance.now(), body: await request.text() });
      const status = statuses[asked.length - 1] ?? 200;
      const body = status === 200 ? { data: [], message: "OK" } : { message: "Later", code: "rate_limited" };
      return Response.json(body, { status, headers: status === 200 ? {} : headers });
    });
    return { asked, url: listener.url };
  };
  const body = { events: [{ name: "channel.followed", version: 1 }] };

  test.each<[string, number[], "get" | "post", number]>([
    ["429 is waited for", [429, 429], "get", 3],
    ["503 is waited for", [503], "get", 2],
    ["429 of a POST is waited for, with the same body", [429], "post", 2],
    ["503 of a POST that has the same effect twice is waited for", [503], "post", 2],
  ])("%s", async (_, statuses, method, requests) => {
    const { asked, url } = busy(statuses);
    const waits: number[] = [];
    const waiting = (waitMs: number, status: number) => void waits.push(waitMs, status);
    const onair = createClient({ url, token: "x", waiting });
    const path = "/public/v1/events/subscriptions";
    await (method === "get" ? onair.get(path) : onair.post(path, { body }));
    expect(asked).toHaveLength(requests);
    expect(new Set(asked.map((one) => one.body)).size).toBe(1);
    expect(waits).toEqual(statuses.flatMap((status) => [0, status]));
  });

  test.each<[string, number[], Record<string, string>, "get" | "post", number]>([
    ["503 of a POST, which may be done", [503], { "retry-after": "0" }, "post", 1],
    ["more refusals than retries", [429, 429, 429], { "retry-after": "0" }, "get", 3],
    ["a longer wait than one wants", [429], { "retry-after": "3600" }, "get", 1],
  ])("%s is an error", async (_, statuses, headers, method, requests) => {
    const { asked, url } = busy(statuses, headers);
    const onair = createClient({ url, token: "x", maxRetries: 2 });
    const call =
      method === "get"
        ? onair.get("/public/v1/events/subscriptions")
        : onair.post("/public/v1/events/test", { body: {} });
    await expect(call).rejects.toMatchObject({ status: statuses[0] });
    expect(asked).toHaveLength(requests);
  });

  test("waits are spread: after Retry-After up to a tenth more, else from zero to a growing time", async () => {
    const waitsOf = async (headers: Record<string, string>, random: () => number) => {
      const waits: number[] = [];
      const stop = new AbortController();
      const { url } = busy([429, 429, 429], headers);
      const waiting = (waitMs: number) => {
        waits.push(waitMs);
        if (waits.length === 3) stop.abort();
      };
      const onair = createClient({ url, token: "x", waiting, random });
      await onair.get("/public/v1/events/subscriptions", { signal: stop.signal }).catch(() => {});
      return waits;
    };
    expect(await waitsOf({}, () => 0.01)).toEqual([10, 20, 40]);
    expect((await waitsOf({ "retry-after": "1" }, () => 0.5)).slice(0, 1)).toEqual([1_050]);
  });

  test("the client never waits less than Retry-After, and the signal ends the wait", async () => {
    const { asked, url } = busy([429], { "retry-after": "1" });
    const onair = createClient({ url, token: "x" });
    await onair.get("/public/v1/events/subscriptions");
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(990);
    const again = busy([429], { "retry-after": "30" });
    const stop = new AbortController();
    const impatient = createClient({ url: again.url, token: "x", waiting: () => stop.abort() });
    const ended = impatient.get("/public/v1/events/subscriptions", { signal: stop.signal });
    await expect(ended).rejects.toThrow();
    expect(again.asked).toHaveLength(1);
  });

  test("a request over a real rate limit is repeated and succeeds", async () => {
    const limited = await ownServer({ args: ["--rate-limit", "60"] });
    const onair = createClient({ url: limited.publicUrl });
    const answers = Array.from({ length: 62 }, () => onair.get("/public/v1/categories"));
    expect(await Promise.all(answers)).toHaveLength(62);
  });

  test("a path that names another host is refused, and the token is not sent there", async () => {
    const asked: string[] = [];
    const onair = createClient({
      url: "https://api.example.com",
      token: "x",
      async fetch({ url }) {
        asked.push(new URL(url).host);
        return new Response();
      },
    });
    for (const path of ["@evil.example/", ".evil.example/", ":8443/"])
      await expect(onair.fetch(path)).rejects.toThrow("must begin with a slash");
    await onair.fetch("//evil.example/");
    expect(asked).toEqual(["api.example.com"]);
  });

  test("a redirect is an error, and the token is not sent to its target", async () => {
    const elsewhere = busy([]);
    const leads = ownListener(
      () => new Response(null, { status: 302, headers: { location: elsewhere.url } }),
    );
    const onair = createClient({ url: leads.url, token: "x" });
    const refused = onair.get("/public/v1/events/subscriptions");
    await expect(refused).rejects.toMatchObject({ status: 302, details: { location: elsewhere.url } });
    expect(elsewhere.asked).toEqual([]);
  });
});

test("a wait beyond the maximum delay of setTimeout does not end at once", async () => {
  jest.useFakeTimers();
  afterThisTest(() => jest.useRealTimers());
  const stop = new AbortController();
  let isOver = false;
  const waiting = sleep(100 * 24 * 3600 * 1000, stop.signal).then(() => {
    isOver = true;
  });
  jest.advanceTimersByTime(2 ** 31 - 2);
  await Promise.resolve();
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
});
