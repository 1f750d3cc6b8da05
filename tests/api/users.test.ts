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

  test("shows a change as soon as it was acknowledged, and keeps created_at", async () => {
    const created_at = "2020-02-29T00:00:00Z";
    await server.admin("PUT", "/admin/v1/users/77", { username: "changing", created_at });
    const before = await json<UserBody>(await server.get("/public/v1/users/changing", token));
    await server.admin("PUT", "/admin/v1/users/77", { username: "Changed", followers_count: 12 });
    const after = await json<UserBody>(await server.get("/public/v1/users/changed", token));
    const changed = { username: "Changed", display_name: "Changed", followers_count: 12 };
    expect(after.user).toEqual({ ...before.user, ...changed });
    expect((await server.get("/public/v1/users/changing", token)).status).toBe(404);
  });
});

describe("GET /public/v1/users", () => {
  interface UsersBody {
    data: Record<string, unknown>[];
    message: string;
  }
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
  test.each<[string, string]>([
    ["", "id is required with a token of the application itself"],
    ["?id=", count],
    ["?id=,", count],
    [`?id=${fifty.join()}&id=51`, count],
    [`?${fifty.map(() => "id=1").join("&")}&id=1`, count],
    ["?id=%FF", "id is not valid percent-encoding"],
    ...["0", "-1", "1e2", "0x10", "+5", "%205", "5.0", "05", "gamer", "9007199254740992", "1%00"].map(
      (id): [string, string] => [`?id=2&id=${id}`, number],
    ),
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

  test("shows a change and a removal as soon as they were acknowledged", async () => {
    await server.admin("PUT", "/admin/v1/users/78", { username: "id_changing" });
    const name = async () =>
      (await json<UsersBody>(await server.get("/public/v1/users?id=78", token))).data.map(
        (one) => one["username"],
      );
    expect(await name()).toEqual(["id_changing"]);
    await server.admin("PUT", "/admin/v1/users/78", { username: "id_changed" });
    expect(await name()).toEqual(["id_changed"]);
    await server.admin("DELETE", "/admin/v1/users/78");
    expect(await name()).toEqual([]);
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

  test.each<[string, string, string[]]>([
    ["a part in the middle", "sdonequ", ["gamesdonequick"]],
    ["another case", "RIOTgames", ["riotgames", "riotgamesbrazil", "riotgamesru", "riotgamesjp"]],
    ["Korean", "풍월량", ["hanryang1125"]],
    ["Chinese", "木棉花", ["muse_tw"]],
    ["Chinese, in the middle", "花官方頻", ["muse_tw"]],
    ["Japanese", "スタン", ["sutanmi"]],
    ["accents in the name", "ada", ["Ada_L-9"]],
    ["accents in the query", "Àdà", ["Ada_L-9"]],
    ["decomposed accents in the query", "A\u0300da\u0300", ["Ada_L-9"]],
    ["ss for ß", "STRASSE", ["strasse_none"]],
    ["ß itself", "straße", ["strasse_none"]],
    ["the final sigma", "οδυσσευς", ["greek"]],
    ["a vowel sign, which is a mark", "กินข", ["thai"]],
    ["the same without that mark", "กนข", ["thai"]],
    ["three characters that are two when they are folded", "กิน", ["thai"]],
    ["marks alone", "\u0301\u0302\u0303", []],
    ["a double quote", 'say "hi"', ["quote"]],
    ["a percent sign", "100%", ["quote"]],
    ["operators of the index", "a OR gamer", []],
    ["a star", "gam*", []],
    ["a caret", "^gamer", []],
    ["a backslash and a quote", '\\"gamer', []],
    ["nothing of the kind", "zzzzzz", []],
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
    expect((await search("crowd", "&limit=1")).body.data).toHaveLength(1);
    expect((await search("crowd", "&limit=100")).body.data).toHaveLength(100);
    expect((await search("crowd")).names).toEqual(many.slice(0, 25).map(({ username }) => username));
  });

  const noLimit = "limit must be an integer from 1 to 100";
  const tooShort = "query must be at least 3 characters";
  test.each<[string, string, string[]]>([
    ["", "query is required", ["query"]],
    ["query=", tooShort, ["query"]],
    ["query=ab", tooShort, ["query"]],
    ["query=%20ab%20", tooShort, ["query"]],
    ["query=%F0%9F%98%80%F0%9F%98%80", tooShort, ["query"]],
    [`query=${"x".repeat(101)}`, "query must be at most 100 characters", ["query"]],
    ["query=%FF%FE%FD", "query is not valid percent-encoding", ["query"]],
    ["query=abc&query=abd", "query must be given only once", ["query"]],
    ["query=abc&limit=101", noLimit, ["limit"]],
    ["query=ab&limit=0", tooShort, ["query", "limit"]],
    ["query=abc&limit=1&limit=2", "limit must be given only once", ["limit"]],
    ..."-1 0 1e2 0x10 %205 %2B5 5.0 05  five 9007199254740993"
      .split(" ")
      .map((limit): [string, string, string[]] => [`query=abc&limit=${limit}`, noLimit, ["limit"]]),
  ])("?%s is refused", async (query, message, fields) => {
    const response = await server.get(`/public/v1/users/search?${query}`, token);
    expect(response.status).toBe(400);
    const errors = fields.map((field) => ({ in: "query", field }));
    expect(await json<object>(response)).toMatchObject({ code: "invalid_parameter", message, errors });
  });

  test("ignores parameters that it does not know", async () => {
    expect((await search("gamer", "&foo=1&foo=2&__proto__=x")).response.status).toBe(200);
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

test("no read after an acknowledged write shows the state before it, in any order of both", async () => {
  const ids = [901, 902, 903];
  const acknowledged = new Map<number, number>();
  const reads: string[] = [];
  const writer = async (id: number) => {
    for (let count = 1; count <= 60; count++) {
      const body = { username: `busy_${id}`, followers_count: count };
      expect((await server.admin("PUT", `/admin/v1/users/${id}`, body)).status).toBe(200);
      acknowledged.set(id, count);
    }
  };
  const reader = async (id: number) => {
    while ((acknowledged.get(id) ?? 0) < 60) {
      const least = acknowledged.get(id) ?? 0;
      const response = await server.get(`/public/v1/users/busy_${id}`, token);
      if (least === 0 && response.status === 404) continue;
      const { user } = await json<UserBody>(response);
      if (user["id"] !== id || Number(user["followers_count"]) < least)
        reads.push(JSON.stringify({ least, user }));
    }
  };
  await Promise.all(ids.flatMap((id) => [writer(id), reader(id), reader(id)]));
  expect(reads).toEqual([]);
});
