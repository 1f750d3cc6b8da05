import { describe, expect, test } from "bun:test";
import { secretHash } from "../../src/domain/tokens.ts";
import { Clock, json, ownServer, refusal, type TestApplication, testServer } from "../support/server.ts";

const clock = new Clock();
const path = "/admin/v1/applications";
const unknown = `${path}/01KATHZX5M9S3E6R8B2D4F7G1H`;

const server = await testServer({ clock, users: [{ id: 7, username: "maya" }] });

const patch = (id: string, body: object) => server.admin("PATCH", `${path}/${id}`, body);
const shownOf = async (id: string) =>
  json<Record<string, unknown>>(await server.admin("GET", `${path}/${id}`));

describe("creating", () => {
  const create = (body: object) => server.admin("POST", path, body);

  test("answers with the application and its secrets", async () => {
    const given = {
      name: "Bot",
      webhook_url: "http://127.0.0.1:9/x",
      redirect_uris: ["https://bot.example/cb"],
    };
    const response = await create(given);
    expect(response.status).toBe(201);
    const body = await json<Record<string, unknown>>(response);
    expect(body).toEqual({
      ...given,
      id: expect.any(String),
      client_type: "confidential",
      delivery: "webhook",
      webhook_headers: {},
      filters: {},
      filters_set_at: {},
      client_id: body["id"],
      client_secret: expect.stringMatching(/^onair_cs_/),
      webhook_secret: expect.stringMatching(/^whsec_/),
      scopes: ["users:read", "events:subscribe"],
      rate_limit: null,
      subscription_limit: null,
      webhook_concurrency: null,
      locked: [],
      owner_user_id: null,
      disabled: false,
      created_at: expect.any(String),
      updated_at: body["created_at"],
    });
  });

  test("takes no http or private webhook URL in production, and names the setting where that is the reason", async () => {
    const strict = await ownServer({ env: { ONAIR_ALLOW_PRIVATE_WEBHOOKS: "false" } });
    const refused = async (webhook_url: string) => {
      const answer = await strict.admin("POST", path, { name: "Bot", webhook_url });
      return [webhook_url, answer.status, (await answer.text()).includes("--allow-private-webhooks")];
    };
    for (const host of ["127.0.0.1", "169.254.169.254", "[::1]", "0x7f.1", "2130706433", "localhost"]) {
      const url = `https://${host}/x`;
      expect(await refused(url)).toEqual([url, 400, true]);
    }
    expect(await refused("http://bot.example/x")).toEqual(["http://bot.example/x", 400, true]);
    const withUser = "https://maya:secret@127.0.0.1/x";
    expect(await refused(withUser)).toEqual([withUser, 400, false]);
    expect(await refused("https://bot.example/x")).toEqual(["https://bot.example/x", 201, false]);
  });
});

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

  test.each([
    ["GET", `${unknown}`, 404, "not_found"],
    ["PATCH", `${unknown}`, 404, "not_found"],
    ["DELETE", `${unknown}`, 404, "not_found"],
    ["POST", `${unknown}/client-secret`, 404, "not_found"],
    ["POST", `${unknown}/webhook-secret`, 404, "not_found"],
    ["GET", `${unknown}/tokens`, 404, "not_found"],
    ["POST", `${unknown}/tokens`, 404, "not_found"],
    ["DELETE", `${unknown}/tokens`, 404, "not_found"],
  ])("%s %s is %i %s", async (method, address, status, code) => {
    const body = /^P/.test(method) ? {} : undefined;
    expect(await refusal(server.admin(method, address, body))).toEqual([status, code]);
  });
});

describe("changing", () => {
  test("changes only the given fields", async () => {
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
    const circumstances = {
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      username: null,
      is_portal_session: false,
      created_at: new Date(clock.ms).toISOString(),
      last_used_at: null,
    };
    expect(JSON.parse(text).data).toEqual([{ ...shown, ...circumstances }]);
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

  test("have no scope that the application has not", async () => {
    const { id } = await server.application({ scopes: ["users:read"] });
    const body = { scopes: ["events:subscribe"] };
    expect((await server.admin("POST", `${path}/${id}/tokens`, body)).status).toBe(400);
  });
});
