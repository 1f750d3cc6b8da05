import { describe, expect, test } from "bun:test";
import { signInServer } from "../support/oauth.ts";
import { json, user } from "../support/server.ts";

const { server, newApp, userTokens } = await signInServer();
await server.load("users", [
  user(7, "maya", { display_name: "Maya 🎲", profile_picture: "https://img.example/maya.png" }),
  user(8, "plain"),
]);
const app = await newApp();

const path = "/oauth/userinfo";
const tokenOf = async (userId: number, fields = {}, application = app) =>
  (await userTokens(application, { userId, fields })).access_token;

interface UserInfo {
  readonly sub: string;
  readonly picture: string;
}

describe("GET /oauth/userinfo", () => {
  test("answers with exactly four fields, of the user who signed in", async () => {
    const response = await server.get(path, await tokenOf(7));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await json<UserInfo>(response)).toEqual({
      sub: "7",
      preferred_username: "maya",
      name: "Maya 🎲",
      picture: "https://img.example/maya.png",
    } as UserInfo);
  });

  test("has a picture that this server serves where the platform gave none", async () => {
    const { picture } = await json<UserInfo>(await server.get(path, await tokenOf(8)));
    expect(picture).toStartWith(`${server.publicUrl}/assets/`);
    expect((await fetch(picture)).headers.get("content-type")).toBe("image/png");
  });

  test("needs no scope at all, which an application can lose", async () => {
    const losing = await newApp();
    const token = await tokenOf(7, {}, losing);
    await server.admin("PATCH", `/admin/v1/applications/${losing.id}`, { scopes: [] });
    expect((await server.get("/public/v1/users?id=7", token)).status).toBe(403);
    expect((await json<UserInfo>(await server.get(path, token))).sub).toBe("7");
  });

  test("of a token of the application itself is 403, and says why", async () => {
    const response = await server.get(path, app.token);
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    expect(await json<object>(response)).toMatchObject({
      code: "insufficient_scope",
      message: "This needs a token of a user who has signed in; this one belongs to the application itself",
    });
  });

  test("takes no refresh token", async () => {
    const { refresh_token } = await userTokens(app, { userId: 7 });
    expect((await server.get(path, refresh_token)).status).toBe(401);
  });

  test("shows a new name at once, and nothing of a user who was removed", async () => {
    await server.load("users", [user(9, "leaving")]);
    const token = await tokenOf(9);
    await server.admin("PUT", "/admin/v1/users/9", { username: "left" });
    expect(await json<object>(await server.get(path, token))).toMatchObject({ preferred_username: "left" });
    await server.admin("DELETE", "/admin/v1/users/9");
    expect((await server.get(path, token)).status).toBe(401);
  });
});
