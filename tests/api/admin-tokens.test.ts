import { describe, expect, test } from "bun:test";
import { hour, isoTime, minute } from "../../src/domain/time.ts";
import { sessionFamily } from "../../src/domain/tokens.ts";
import { signInServer } from "../support/oauth.ts";
import { Clock, json } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * The tokens of an application as an operator sees them: of whom, since when, last used, and revoked one by one.
 */

interface Listed {
  readonly id: string;
  readonly user_id: number | null;
  readonly username: string | null;
  readonly is_portal_session: boolean;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

const clock = new Clock();
const { server, newApp, refresh, userTokens, works } = await signInServer({ clock });

const path = (app: { id: string }) => `/admin/v1/applications/${app.id}/tokens`;
const listed = async (app: { id: string }) =>
  (await json<{ data: Listed[] }>(await server.admin("GET", path(app)))).data;
const own = async (app: { id: string }) => (await listed(app)).find(({ user_id }) => user_id === null);

describe("listed tokens", () => {
  test("say whose they are, since when, and when they were last used", async () => {
    const app = await newApp();
    const madeAt = isoTime(clock.now());
    expect(await listed(app)).toMatchObject([
      { user_id: null, username: null, is_portal_session: false, created_at: madeAt, last_used_at: null },
    ]);
    clock.advance(minute);
    const usedAt = isoTime(clock.now());
    expect(await works(app.token)).toBe(true);
    await until(async () => (await own(app))?.last_used_at === usedAt);
    // A use within the hour is not written, and the next one is.
    clock.advance(hour - 1);
    expect(await works(app.token)).toBe(true);
    clock.advance(1);
    const nextAt = isoTime(clock.now());
    expect(await works(app.token)).toBe(true);
    await until(async () => (await own(app))?.last_used_at === nextAt);
    const { access_token } = await userTokens(app);
    expect(access_token).toStartWith("onair_at_");
    const ofUser = (await listed(app)).find(({ user_id }) => user_id !== null);
    expect(ofUser).toMatchObject({ username: expect.any(String), created_at: nextAt, last_used_at: null });
  });

  test("tell a session of the portal from a token of the application", async () => {
    const app = await newApp();
    const grant = {
      applicationId: app.id,
      userId: null,
      scopes: [],
      createdAt: 0,
      expiresAt: clock.now() + hour,
    };
    const hash = crypto.getRandomValues(new Uint8Array(32));
    await server.app.store.tokens.create(hash, grant, sessionFamily(app.id));
    expect((await listed(app)).map((one) => one.is_portal_session).sort()).toEqual([false, true]);
  });
});

describe("revoking one token", () => {
  test("ends it at once, and no other", async () => {
    const [app, bystander] = [await newApp(), await newApp()];
    const made = await server.admin("POST", path(app), {});
    const { access_token } = await json<{ access_token: string }>(made);
    const [first, second] = await listed(app);
    expect([await works(app.token), await works(access_token)]).toEqual([true, true]);
    for (const token of [first, second]) {
      const gone = await server.admin("DELETE", `${path(app)}/${token?.id}`);
      expect(gone.status).toBe(204);
      if (token === first)
        expect([await works(app.token), await works(access_token)].sort()).toEqual([false, true]);
    }
    expect([await works(app.token), await works(access_token)]).toEqual([false, false]);
    expect(await works(bystander.token)).toBe(true);
    expect(await listed(app)).toEqual([]);
  });

  test("of a user ends its sign-in, so that the application cannot get another one", async () => {
    const app = await newApp();
    const [tokens, others] = [await userTokens(app), await userTokens(app)];
    const of = async () => (await listed(app)).filter(({ user_id }) => user_id !== null);
    const before = await of();
    expect(before).toHaveLength(2);
    for (const one of before) {
      expect((await server.admin("DELETE", `${path(app)}/${one.id}`)).status).toBe(204);
      if (one === before[0]) expect(await of()).toHaveLength(1);
    }
    for (const { access_token, refresh_token } of [tokens, others]) {
      expect(await works(access_token)).toBe(false);
      expect((await refresh(app, refresh_token)).status).toBe(400);
    }
    expect(await works(app.token)).toBe(true);
  });

  test("needs the id of a token of this application, and is audited", async () => {
    const [app, other] = [await newApp(), await newApp()];
    const [token] = await listed(other);
    expect((await server.admin("DELETE", `${path(app)}/${token?.id}`)).status).toBe(404);
    expect((await server.admin("DELETE", `${path(app)}/${"0".repeat(24)}`)).status).toBe(404);
    expect((await server.admin("DELETE", `${path(app)}/${app.token}`)).status).toBe(400);
    expect(await works(other.token)).toBe(true);
    expect((await server.admin("DELETE", `${path(other)}/${token?.id}`)).status).toBe(204);
    const trail = await json<{ data: object[] }>(await server.admin("GET", "/admin/v1/audit?limit=1"));
    expect(trail.data).toMatchObject([
      {
        action: "revokeToken",
        object_id: other.id,
        changes: [{ field: "token_id", from: token?.id, to: null }],
      },
    ]);
  });
});
