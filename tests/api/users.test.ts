import { describe, expect, test } from "bun:test";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { json, refusal, testServer, user } from "../support/server.ts";

const summary = {
  id: 1,
  username: "Ada_L-9",
  display_name: "Àdà Łovelace",
  profile_picture: "https://img.example/ada.png",
  is_verified: false,
};
const counts = { followers_count: 10, following_count: 7 };
const ada = { ...summary, ...counts, bio: "", created_at: "2016-09-15T12:30:00Z" };
const invented = [
  ada,
  user(2, "gamer", { followers_count: 5 }),
  user(3, "gamer_two", { followers_count: 9_000_000 }),
  user(4, "gamer_one", { followers_count: 9_000_000 }),
  user(5, "old_gamer", { followers_count: 90_000_000 }),
  user(6, "strasse_none", { display_name: "Große Straße" }),
  user(7, "greek", { display_name: "ΟΔΥΣΣΕΥΣ" }),
  user(8, "thai", { display_name: "กินข้าว" }),
  user(9, "quote", { display_name: 'say "hi" 100%' }),
];

const server = await testServer({ args: ["--login-url", loginUrl] });
await server.load("users", [...users, ...invented]);
const { token } = await server.application();

interface UserBody {
  user: Record<string, unknown>;
  message: string;
}
interface UsersBody {
  data: Record<string, unknown>[];
  message: string;
}

describe("GET /public/v1/users/{username}", () => {
  test("answers with exactly the nine fields and a message", async () => {
    const response = await server.get("/public/v1/users/Ada_L-9", token);
    expect(response.status).toBe(200);
    expect(await json<UserBody>(response)).toEqual({ user: ada, message: "OK" });
  });

  test("finds every real user, with the real numbers", async () => {
    for (const user of users) {
      const body = await json<UserBody>(await server.get(`/public/v1/users/${user.username}`, token));
      expect(body.user).toMatchObject(user);
    }
  });

  test("no field is ever missing or null; a picture that was not given is one that this server serves", async () => {
    const { user } = await json<UserBody>(await server.get("/public/v1/users/gamer", token));
    expect(Object.values(user)).not.toContain(null);
    expect(Object.keys(user)).toHaveLength(9);
    expect(user).toMatchObject({ display_name: "gamer", bio: "", following_count: 0, is_verified: false });
    expect(user["created_at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const picture = await fetch(String(user["profile_picture"]));
    expect(picture.status).toBe(200);
    expect(picture.headers.get("content-type")).toBe("image/png");
  });

  test.each(["ada_l-9", "ADA_L-9", "aDa_L-9"])("looks up %s without regard to ASCII case", async (name) => {
    const { user } = await json<UserBody>(await server.get(`/public/v1/users/${name}`, token));
    expect(user["username"]).toBe("Ada_L-9");
  });

  test("takes a percent-encoded name", async () => {
    expect((await server.get("/public/v1/users/%67amer", token)).status).toBe(200);
    expect((await server.get("/public/v1/users/%2567amer", token)).status).toBe(400);
  });

  test.each<[string, number, string]>([
    ["nobody", 404, "user_not_found"],
    ["x".repeat(64), 404, "user_not_found"],
    ["x".repeat(65), 400, "invalid_parameter"],
    ["with%20space", 400, "invalid_parameter"],
    ["caf%C3%A9", 400, "invalid_parameter"],
    ["a.b", 400, "invalid_parameter"],
    ["%27%20OR%201=1", 400, "invalid_parameter"],
  ])("%s is %i %s", async (name, status, code) => {
    expect(await refusal(server.get(`/public/v1/users/${name}`, token))).toEqual([status, code]);
  });

  test("shows a change and a removal as soon as they were acknowledged, and keeps created_at", async () => {
    const created_at = "2020-02-29T00:00:00Z";
    await server.admin("PUT", "/admin/v1/users/77", { username: "changing", created_at });
    const before = await json<UserBody>(await server.get("/public/v1/users/changing", token));
    await server.admin("PUT", "/admin/v1/users/77", { username: "Changed", followers_count: 12 });
    const after = await json<UserBody>(await server.get("/public/v1/users/changed", token));
    const changed = { username: "Changed", display_name: "Changed", followers_count: 12 };
    expect(after.user).toEqual({ ...before.user, ...changed });
    expect((await server.get("/public/v1/users/changing", token)).status).toBe(404);
    const byId = async () => (await json<UsersBody>(await server.get("/public/v1/users?id=77", token))).data;
    expect(await byId()).toEqual([after.user]);
    await server.admin("DELETE", "/admin/v1/users/77");
    expect(await byId()).toEqual([]);
  });
});

describe("GET /public/v1/users", () => {
  const idsOf = async (query: string, by = token) =>
    (await json<UsersBody>(await server.get(`/public/v1/users${query}`, by))).data?.map(({ id }) => id);

  test("answers with the whole users and a message", async () => {
    const response = await server.get("/public/v1/users?id=1", token);
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await json<UsersBody>(response)).toEqual({ data: [ada], message: "OK" });
    const [gamer = {}] = (await json<UsersBody>(await server.get("/public/v1/users?id=2", token))).data;
    const { user } = await json<UserBody>(await server.get("/public/v1/users/gamer", token));
    expect(gamer).toEqual(user);
  });

  const fifty = Array.from({ length: 50 }, (_, i) => i + 1);
  test.each<[string, string, number[]]>([
    ["repeated ids, in the order of the request", "?id=3&id=1&id=2", [3, 1, 2]],
    ["ids separated by commas", "?id=3,1,2", [3, 1, 2]],
    ["both forms together", "?id=3,1&id=2&foo=1", [3, 1, 2]],
    ["no unknown users", "?id=999999&id=2&id=9007199254740991", [2]],
    ["nobody where no id is known", "?id=999999", []],
    ["a user once, at the first place", "?id=2&id=3&id=2,3", [2, 3]],
    ["fifty ids", `?id=${fifty.join()}`, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ["no empty items", "?id=,2,,1,", [2, 1]],
  ])("finds %s", async (_, query, expected) => {
    expect(await idsOf(query)).toEqual(expected);
  });

  const number = "id must be an integer from 1 to 9007199254740991";
  const count = "id must have 1 to 50 values, repeated or separated by commas";
  // `inputs.test.ts` has every fault of an integer and of a list.
  test.each<[string, string]>([
    ["", "id is required with a token of the application itself"],
    ["?id=,", count],
    [`?${fifty.map(() => "id=1").join("&")}&id=1`, count],
    ["?id=%FF", "id is not valid percent-encoding"],
    ["?id=2&id=gamer", number],
  ])("%s is refused", async (query, message) => {
    const response = await server.get(`/public/v1/users${query}`, token);
    expect(response.status).toBe(400);
    const errors = [{ in: "query", field: "id", message: message.slice(3) }];
    expect(await json<object>(response)).toMatchObject({ code: "invalid_parameter", message, errors });
  });

  test("with a user token and without an id is that user; with ids, those", async () => {
    const application = await server.application({ redirect_uris: [redirectUri] });
    const signedIn = (await userTokens(server, application, { userId: 5 })).access_token;
    expect([await idsOf("", signedIn), await idsOf("?id=2", signedIn)]).toEqual([[5], [2]]);
    expect(await refusal(server.get("/public/v1/users?id=", signedIn))).toEqual([400, "invalid_parameter"]);
    const fields = { scope: "events:subscribe" };
    const unread = (await userTokens(server, application, { userId: 5, fields })).access_token;
    expect(await refusal(server.get("/public/v1/users", unread))).toEqual([403, "insufficient_scope"]);
  });
});

describe("GET /public/v1/users/search", () => {
  const search = async (query: string, more = "") => {
    const path = `/public/v1/users/search?query=${encodeURIComponent(query)}${more}`;
    const response = await server.get(path, token);
    const body = await json<{ data: Record<string, unknown>[]; message: string }>(response);
    return { response, body, names: body.data?.map(({ username }) => username) };
  };

  test("answers with exactly the five fields of a summary and a message", async () => {
    const { response, body } = await search("ada_l-9");
    expect(response.status).toBe(200);
    expect(body).toEqual({ data: [summary], message: "OK" });
  });

  test("puts the exact username first, then those that start with it, then the rest; more followers, lower id", async () => {
    expect((await search("gamer")).names).toEqual(["gamer", "gamer_two", "gamer_one", "old_gamer"]);
  });

  // `text.test.ts` has how texts are folded.
  test.each<[string, string, string[]]>([
    ["a part in the middle", "sdonequ", ["gamesdonequick"]],
    ["another case", "RIOTgames", ["riotgames", "riotgamesbrazil", "riotgamesru", "riotgamesjp"]],
    ["Korean", "풍월량", ["hanryang1125"]],
    ["Chinese, in the middle", "花官方頻", ["muse_tw"]],
    ["accents in the name", "ada", ["Ada_L-9"]],
    ["ss for ß", "STRASSE", ["strasse_none"]],
    ["the final sigma", "οδυσσευς", ["greek"]],
    ["three characters that are two when they are folded", "กิน", ["thai"]],
    ["marks alone", "\u0301\u0302\u0303", []],
    ["a double quote", 'say "hi"', ["quote"]],
    ["a percent sign", "100%", ["quote"]],
    ["operators of the index", "a OR gamer", []],
    ["outer white space", "  ada_l-9 ", ["Ada_L-9"]],
    ["a hundred characters", "x".repeat(100), []],
  ])("finds %s", async (_, query, expected) => {
    const { response, names } = await search(query);
    expect(response.status).toBe(200);
    expect(names).toEqual(expected);
  });

  test("returns 25 users by default, at most 100", async () => {
    const many = Array.from({ length: 120 }, (_, i) => user(10_000 + i, `crowd_${i}`));
    await server.load("users", many);
    expect((await search("crowd")).body.data).toHaveLength(25);
    expect((await search("crowd", "&limit=1&foo=1&foo=2&__proto__=x")).body.data).toHaveLength(1);
    expect((await search("crowd", "&limit=100")).body.data).toHaveLength(100);
    expect((await search("crowd")).names).toEqual(many.slice(0, 25).map(({ username }) => username));
  });

  const noLimit = "limit must be an integer from 1 to 100";
  const tooShort = "query must be at least 3 characters";
  test.each<[string, string, string[]]>([
    ["query=ab", tooShort, ["query"]],
    ["query=%20ab%20", tooShort, ["query"]],
    ["query=%F0%9F%98%80%F0%9F%98%80", tooShort, ["query"]],
    [`query=${"x".repeat(101)}`, "query must be at most 100 characters", ["query"]],
    ["query=%FF%FE%FD", "query is not valid percent-encoding", ["query"]],
    ["query=abc&limit=101", noLimit, ["limit"]],
    ["query=ab&limit=0", tooShort, ["query", "limit"]],
  ])("?%s is refused", async (query, message, fields) => {
    const response = await server.get(`/public/v1/users/search?${query}`, token);
    expect(response.status).toBe(400);
    const errors = fields.map((field) => ({ in: "query", field }));
    expect(await json<object>(response)).toMatchObject({ code: "invalid_parameter", message, errors });
  });

  test("follows a changed name and a changed count of followers", async () => {
    await server.admin("PUT", "/admin/v1/users/88", { username: "shifting_a", followers_count: 3 });
    await server.admin("PUT", "/admin/v1/users/89", { username: "shifting_b", followers_count: 4 });
    expect((await search("shifting")).names).toEqual(["shifting_b", "shifting_a"]);
    await server.admin("PUT", "/admin/v1/users/88", { username: "shifting_a", followers_count: 1_000_000 });
    expect((await search("shifting")).names).toEqual(["shifting_a", "shifting_b"]);
    await server.admin("PUT", "/admin/v1/users/88", { username: "moved_away", followers_count: 1_000_000 });
    expect((await search("shifting")).names).toEqual(["shifting_b"]);
    expect((await search("moved_away")).names).toEqual(["moved_away"]);
  });
});
