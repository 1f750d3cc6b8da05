import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { rotationLimits } from "../../src/domain/applications.ts";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { secretHash } from "../../src/domain/tokens.ts";
import { Receiver, testReceiver } from "../support/receiver.ts";
import { Clock, json, refusal, startServer, type TestApplication, testServer } from "../support/server.ts";

const clock = new Clock();
const path = "/admin/v1/applications";
const hour = 3_600_000;

const server = await testServer({ clock });
const receiver = testReceiver();
await server.load("users", [{ id: 7, username: "maya" }]);

const patch = (id: string, body: object) => server.admin("PATCH", `${path}/${id}`, body);
const shownOf = async (id: string) =>
  json<Record<string, unknown>>(await server.admin("GET", `${path}/${id}`));
const subscribe = async ({ token }: TestApplication) => {
  const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 7 };
  const answer = await server.post("/public/v1/events/subscriptions", body, token);
  return answer.status;
};
const data = builtInEventTypes.find(({ name }) => name === "channel.followed")?.example;
const publish = async () => {
  const event = { name: "channel.followed", version: 1, broadcaster_user_id: 7, data };
  const answer = await server.admin("POST", "/admin/v1/events", event);
  expect(answer.status).toBe(202);
  return (await json<{ deliveries: number }>(answer)).deliveries;
};
const profile = ({ token }: TestApplication) => server.get("/public/v1/users/maya", token);
/** An application whose deliveries nobody but this test waits for. */
const listening = (url = receiver.url) => server.application({ webhook_url: url });
const remove = (id: string) => server.admin("DELETE", `${path}/${id}`);
/** Resolves when the engine has nothing in hand, and the store nothing for this application. */
const waitForNothingPending = async (id: string, { app } = server) => {
  for (let i = 0; i < 500; i++) {
    const { inFlight, queued, unrecorded } = await app.engine.stats();
    const pending = await app.store.deliveries.pending();
    if (inFlight + queued + unrecorded === 0 && !pending.some((one) => one.application_id === id)) return;
    await Bun.sleep(10);
  }
  throw new Error("deliveries are still pending");
};

describe("listing", () => {
  test("shows every application once, page by page, and no secret", async () => {
    const made: TestApplication[] = [];
    for (let i = 0; i < 5; i++) made.push(await server.application());
    const seen: string[] = [];
    let cursor = "";
    do {
      const answer = await server.admin("GET", `${path}?limit=2&cursor=${cursor}`);
      const text = await answer.text();
      for (const { client_secret, webhook_secret } of made) {
        expect(text).not.toContain(client_secret);
        expect(text).not.toContain(webhook_secret);
        expect(text).not.toContain(secretHash(client_secret).toString("base64"));
      }
      const page = JSON.parse(text);
      expect(page.data.length).toBeLessThanOrEqual(2);
      expect(page.pagination.has_more).toBe(page.pagination.cursor !== "");
      seen.push(...page.data.map(({ id }: { id: string }) => id));
      cursor = page.pagination.cursor;
    } while (cursor !== "");
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    expect(seen).toEqual(seen.toSorted());
  });

  test("the record has exactly the documented fields", async () => {
    const { id } = await server.application({ name: "Exact" });
    expect(await shownOf(id)).toEqual({
      id,
      name: "Exact",
      client_type: "confidential",
      delivery: "webhook",
      client_id: id,
      webhook_url: null,
      scopes: ["users:read", "events:subscribe"],
      redirect_uris: [],
      rate_limit: null,
      subscription_limit: null,
      webhook_concurrency: null,
      locked: [],
      owner_user_id: null,
      disabled: false,
      created_at: "2026-01-14T16:00:00.000Z",
      updated_at: "2026-01-14T16:00:00.000Z",
    });
  });

  test.each([
    ["GET", `${path}?limit=101`, 400, "invalid_parameter"],
    ["GET", `${path}?cursor=x`, 400, "invalid_cursor"],
    ["GET", `${path}/x`, 400, "invalid_parameter"],
    ["GET", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H`, 404, "not_found"],
    ["PATCH", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H`, 404, "not_found"],
    ["DELETE", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H`, 404, "not_found"],
    ["POST", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H/client-secret`, 404, "not_found"],
    ["POST", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H/webhook-secret`, 404, "not_found"],
    ["GET", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H/tokens`, 404, "not_found"],
    ["POST", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H/tokens`, 404, "not_found"],
    ["DELETE", `${path}/01KATHZX5M9S3E6R8B2D4F7G1H/tokens`, 404, "not_found"],
  ])("%s %s is %i %s", async (method, address, status, code) => {
    const body = /^P/.test(method) ? {} : undefined;
    expect(await refusal(server.admin(method, address, body))).toEqual([status, code]);
  });
});

describe("changing", () => {
  test("changes what is named and nothing else", async () => {
    const { id } = await server.application({ name: "Before", rate_limit: 5 });
    const before = await shownOf(id);
    clock.advance(1000);
    const answer = await patch(id, { name: "After", subscription_limit: 3 });
    const expected = {
      ...before,
      name: "After",
      subscription_limit: 3,
      updated_at: new Date(clock.ms).toISOString(),
    };
    expect([answer.status, await json<object>(answer)]).toEqual([200, expected]);
    expect(await shownOf(id)).toEqual(expected);
    expect((await patch(id, { rate_limit: null })).status).toBe(200);
    expect(await shownOf(id)).toMatchObject({ rate_limit: null, name: "After" });
  });

  test.each<[object, string[]]>([
    [{ name: "" }, ["name"]],
    [{ name: null, rate_limit: -1, disabled: "yes" }, ["disabled", "name", "rate_limit"]],
    [{ webhook_concurrency: 0 }, ["webhook_concurrency"]],
    [{ webhook_concurrency: 1_001 }, ["webhook_concurrency"]],
    [{ webhook_url: "ftp://x.example/", scopes: ["none"] }, ["scopes", "webhook_url"]],
  ])("%j is refused whole", async (body, fields) => {
    const { id } = await server.application();
    const before = await shownOf(id);
    const answer = await patch(id, { ...body, subscription_limit: 9 });
    const { errors } = await json<{ errors: { field: string }[] }>(answer);
    expect([answer.status, errors.map(({ field }) => field).sort()]).toEqual([400, fields]);
    expect(await shownOf(id)).toEqual(before);
  });

  test("a rate limit and a subscription limit hold at once for a known token", async () => {
    const app = await listening();
    expect((await profile(app)).headers.get("ratelimit-limit")).toBeNull();
    await patch(app.id, { rate_limit: 2, subscription_limit: 0 });
    const limited = await profile(app);
    expect(limited.headers.get("ratelimit-limit")).toBe("2");
    expect(await subscribe(app)).toBe(400);
    expect((await profile(app)).status).toBe(429);
    await patch(app.id, { rate_limit: null });
    expect((await profile(app)).status).toBe(200);
    await remove(app.id);
  });

  test("a scope that is taken away is taken from its tokens", async () => {
    const app = await server.application();
    expect((await profile(app)).status).toBe(200);
    await patch(app.id, { scopes: ["events:subscribe"] });
    expect((await profile(app)).status).toBe(403);
    await patch(app.id, { scopes: ["events:subscribe", "users:read"] });
    expect((await profile(app)).status).toBe(200);
  });

  test("a changed webhook URL holds for every delivery started after the answer, retries too", async () => {
    const before = new Receiver(() => new Response(null, { status: 500 }));
    const after = new Receiver();
    const app = await listening(before.url);
    await subscribe(app);
    await publish();
    await before.arrived(1);
    await patch(app.id, { webhook_url: after.url });
    await publish();
    await after.arrived(1);
    clock.advance(hour);
    await publish();
    const arrived = await after.arrived(3);
    await waitForNothingPending(app.id);
    expect(before.received).toHaveLength(1);
    expect(arrived.map(({ headers }) => headers["onair-sequence"]).sort()).toEqual(["1", "2", "3"]);
    await remove(app.id);
    await Promise.all([before.stop(), after.stop()]);
  });
});

describe("disabling", () => {
  test("refuses tokens and the secret, delivers nothing, and can be undone", async () => {
    const own = new Receiver();
    const app = await listening(own.url);
    await subscribe(app);
    expect((await profile(app)).status).toBe(200);
    await patch(app.id, { disabled: true });
    expect(await refusal(profile(app))).toEqual([401, "invalid_token"]);
    const { client_id, client_secret } = app;
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    const ask = () => server.get("/oauth/token", undefined, { method: "POST", body: form });
    expect((await ask()).status).toBe(401);
    await publish();
    await waitForNothingPending(app.id);
    expect(own.received).toEqual([]);
    await patch(app.id, { disabled: false });
    expect((await profile(app)).status).toBe(200);
    expect((await ask()).status).toBe(200);
    await publish();
    expect(await own.arrived(1)).toHaveLength(1);
    await waitForNothingPending(app.id);
    // What happened in between is not sent later.
    expect(own.received).toHaveLength(1);
    await remove(app.id);
    await own.stop();
  });

  test.each([{ disabled: true }, { webhook_url: null }])("%j cancels what is pending", async (change) => {
    const failing = new Receiver(() => new Response(null, { status: 500 }));
    const app = await listening(failing.url);
    await subscribe(app);
    await publish();
    await failing.arrived(1);
    await patch(app.id, change);
    // Also of an attempt that is still being recorded no retry is left.
    await waitForNothingPending(app.id);
    expect(await server.app.store.deliveries.pending()).not.toContainEqual(
      expect.objectContaining({ application_id: app.id }),
    );
    await remove(app.id);
    await failing.stop();
  });
});

test("deleting takes tokens and subscriptions with it and cancels what is pending", async () => {
  const failing = new Receiver(() => new Response(null, { status: 500 }));
  const app = await listening(failing.url);
  await subscribe(app);
  expect((await profile(app)).status).toBe(200);
  expect(await publish()).toBe(1);
  await failing.arrived(1);
  expect((await remove(app.id)).status).toBe(204);
  expect((await profile(app)).status).toBe(401);
  expect(await server.app.store.subscriptions.ofApplication(app.id)).toEqual([]);
  expect(await server.app.store.tokens.ofApplication(app.id, clock.ms, 10)).toEqual([]);
  await waitForNothingPending(app.id);
  expect(await server.app.store.deliveries.pending()).toEqual([]);
  expect(await publish()).toBe(0);
  expect((await remove(app.id)).status).toBe(404);
  await failing.stop();
});

describe("rotating", () => {
  interface Rotated {
    readonly client_secret: string;
    readonly webhook_secret: string;
    readonly overlap_until: string | null;
  }
  const rotate = async (id: string, kind: "client-secret" | "webhook-secret", body: object = {}) => {
    const answer = await server.admin("POST", `${path}/${id}/${kind}`, body);
    expect(answer.status).toBe(200);
    return json<Rotated>(answer);
  };
  /** Which of these secrets verify what was delivered last. */
  const verifying = async (app: TestApplication, own: Receiver, secrets: readonly string[]) => {
    const before = own.received.length;
    await publish();
    const received = await own.arrived(before + 1);
    await waitForNothingPending(app.id);
    const last = received.at(-1);
    // The library compares with the real time, so it is told the time of the test by the headers alone.
    const timestamp = last?.headers["webhook-timestamp"] ?? "";
    const signature = last?.headers["webhook-signature"] ?? "";
    return secrets.filter((secret) => {
      const signed = new Webhook(secret).sign(
        last?.headers["webhook-id"] ?? "",
        new Date(Number(timestamp) * 1000),
        last?.body ?? "",
      );
      return signature.split(" ").includes(signed);
    });
  };

  test("both webhook secrets sign while the overlap lasts, the default of a day", async () => {
    const own = new Receiver();
    const app = await listening(own.url);
    await subscribe(app);
    const first = app.webhook_secret;
    const { webhook_secret: second, overlap_until } = await rotate(app.id, "webhook-secret");
    expect(second).toMatch(/^whsec_/);
    expect(overlap_until).toBe(new Date(clock.ms + 24 * hour).toISOString());
    expect(await verifying(app, own, [first, second])).toEqual([first, second]);
    clock.advance(24 * hour - 1);
    expect(await verifying(app, own, [first, second])).toEqual([first, second]);
    clock.advance(1);
    expect(await verifying(app, own, [first, second])).toEqual([second]);
    await remove(app.id);
    await own.stop();
  });

  test("no overlap ends every older secret at once", async () => {
    const own = new Receiver();
    const app = await listening(own.url);
    await subscribe(app);
    const { webhook_secret: second } = await rotate(app.id, "webhook-secret", { overlap_seconds: 3600 });
    const { webhook_secret: third, overlap_until } = await rotate(app.id, "webhook-secret", {
      overlap_seconds: 0,
    });
    expect(overlap_until).toBeNull();
    expect(await verifying(app, own, [app.webhook_secret, second, third])).toEqual([third]);
    await remove(app.id);
    await own.stop();
  });

  test("the hashes of both client secrets are good while the overlap lasts", async () => {
    const app = await server.application();
    const { client_secret: second } = await rotate(app.id, "client-secret", { overlap_seconds: 60 });
    const good = async () => {
      const hashes = await server.app.store.applications.clientSecretHashes(app.id, clock.ms);
      return [app.client_secret, second].filter((secret) =>
        hashes.some((hash) => secretHash(secret).equals(hash)),
      );
    };
    expect(await good()).toEqual([app.client_secret, second]);
    clock.advance(59_999);
    expect(await good()).toEqual([app.client_secret, second]);
    clock.advance(1);
    expect(await good()).toEqual([second]);
    await patch(app.id, { disabled: true });
    expect(await good()).toEqual([]);
  });

  test("too many secrets that are good at once are refused with the reason", async () => {
    const app = await server.application();
    for (let i = 0; i < rotationLimits.maxRetired; i++) await rotate(app.id, "webhook-secret");
    const answer = await server.admin("POST", `${path}/${app.id}/webhook-secret`, {});
    expect([answer.status, await json<object>(answer)]).toMatchObject([
      409,
      {
        code: "conflict",
        message: expect.stringContaining("5 earlier secrets would be good at once, 4 may be"),
      },
    ]);
    await rotate(app.id, "webhook-secret", { overlap_seconds: 0 });
    await rotate(app.id, "webhook-secret");
  });

  test.each([{ overlap_seconds: -1 }, { overlap_seconds: "1" }, { overlap_seconds: 30 * 86_400 + 1 }])(
    "%j is refused",
    async (body) => {
      const { id } = await server.application();
      expect((await server.admin("POST", `${path}/${id}/client-secret`, body)).status).toBe(400);
    },
  );
});

describe("tokens", () => {
  test("are made without the client secret, listed without themselves, and revoked together", async () => {
    const { id } = await server.application();
    await server.admin("DELETE", `${path}/${id}/tokens`);
    const made = await server.admin("POST", `${path}/${id}/tokens`, {
      scopes: ["users:read"],
      expires_in: 60,
    });
    expect(made.status).toBe(201);
    const { access_token, ...shown } = await json<{ access_token: string }>(made);
    const expires_at = new Date(clock.ms + 60_000).toISOString();
    expect(shown).toEqual({ user_id: null, scopes: ["users:read"], expires_at } as object);
    const listed = await server.admin("GET", `${path}/${id}/tokens`);
    const text = await listed.text();
    expect(JSON.parse(text).data).toEqual([{ user_id: null, scopes: ["users:read"], expires_at }]);
    expect(text).not.toContain(access_token);
    expect((await server.get("/public/v1/users/maya", access_token)).status).toBe(200);
    clock.advance(60_000);
    const later = await server.admin("GET", `${path}/${id}/tokens`);
    expect(await json<object>(later)).toMatchObject({ data: [] });
    clock.advance(-60_000);
    const revoked = await server.admin("DELETE", `${path}/${id}/tokens`);
    expect(await json<object>(revoked)).toEqual({ revoked: 1, message: "OK" });
    expect((await server.get("/public/v1/users/maya", access_token)).status).toBe(401);
  });

  test.each([{ scopes: ["events:subscribe"] }, { scopes: ["none"] }, { expires_in: 0 }, { expires_in: 1e9 }])(
    "%j is refused",
    async (body) => {
      const { id } = await server.application({ scopes: ["users:read"] });
      expect((await server.admin("POST", `${path}/${id}/tokens`, body)).status).toBe(400);
    },
  );
});

/** As in production, where the clock is the system's and the engine has a thread of its own. */
test("changes reach an engine in its own thread before they are answered", async () => {
  const real = await startServer();
  const [first, second] = [new Receiver(), new Receiver()];
  await real.load("users", [{ id: 7, username: "maya" }]);
  const app = await real.application({ webhook_url: first.url });
  const change = (body: object) => real.admin("PATCH", `${path}/${app.id}`, body);
  const body = { events: [{ name: "channel.followed", version: 1 }], broadcaster_user_id: 7 };
  await real.post("/public/v1/events/subscriptions", body, app.token);
  const event = { name: "channel.followed", version: 1, broadcaster_user_id: 7, data };
  const publishTo = async (receiver: Receiver) => {
    const before = receiver.received.length;
    await real.admin("POST", "/admin/v1/events", event);
    return (await receiver.arrived(before + 1)).at(-1);
  };
  await publishTo(first);
  await change({ webhook_url: second.url });
  await publishTo(second);
  const rotated = await real.admin("POST", `${path}/${app.id}/webhook-secret`, {});
  const { webhook_secret } = await json<{ webhook_secret: string }>(rotated);
  const received = await publishTo(second);
  for (const secret of [app.webhook_secret, webhook_secret]) {
    expect(new Webhook(secret).verify(received?.body ?? "", received?.headers ?? {})).toMatchObject({ data });
  }
  await change({ disabled: true });
  await real.admin("POST", "/admin/v1/events", event);
  expect((await real.get("/public/v1/users/maya", app.token)).status).toBe(401);
  await waitForNothingPending(app.id, real);
  await change({ disabled: false });
  const last = await publishTo(second);
  // The one that was published meanwhile has a number, and was not sent.
  expect(last?.headers["onair-sequence"]).toBe("5");
  expect([first.received.length, second.received.length]).toEqual([1, 3]);
  await real.stop();
  await Promise.all([first.stop(), second.stop()]);
});
