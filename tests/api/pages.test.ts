import { describe, expect, spyOn, test } from "bun:test";
import { streamPath } from "../support/event-stream.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { adminKey, Clock, category, json, ownDirectory, ownServer, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--portal"] });

interface ListPage {
  readonly data: readonly { readonly id: number }[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

/** The other fields of a user of whom only the names are known. */
const unpopular = { profile_picture: null, followers_count: 0, is_verified: false };
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

const cookieOf = (answer: Response) => (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

async function consoleCookie(key = adminKey, headers: Record<string, string> = {}): Promise<string> {
  const init = { method: "POST", headers: { ...page, ...headers, authorization: `Bearer ${key}` } };
  const answer = await fetch(`${server.adminUrl}/console/session`, init);
  expect(answer.status).toBe(200);
  return cookieOf(answer);
}

interface Credentials {
  readonly client_id: string;
  readonly client_secret?: string;
}

async function portalSession(
  { client_id, client_secret }: Credentials,
  headers: Record<string, string> = page,
) {
  const body = new URLSearchParams({ client_id, ...(client_secret !== undefined && { client_secret }) });
  const init = { method: "POST", headers, body };
  return fetch(`${server.publicUrl}/portal/session`, init);
}

describe("the files of the pages", () => {
  test.each(["portal", "console"])(
    "%s refers to its own files alone, which are kept for good",
    async (name) => {
      const url = name === "portal" ? server.publicUrl : server.adminUrl;
      const answer = await fetch(`${url}/${name}/deliveries/any?status=failed`);
      const html = await answer.text();
      expect(answer.status).toBe(200);
      expect(html).not.toMatch(/https?:|<style|style=|<script>|\son[a-z]+=/);
      const policy = answer.headers.get("content-security-policy") ?? "";
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
      ]) {
        expect(policy).toContain(part);
      }
      expect(policy).not.toContain("unsafe");
      const files = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path ?? "");
      expect(files.length).toBe(4);
      for (const file of files) {
        const found = await fetch(url + file);
        expect([file, found.status]).toEqual([file, 200]);
        expect(found.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
        expect((await found.text()).length).toBeGreaterThan(100);
      }
      expect((await fetch(`${url}/${name}/files/nothing.js`)).status).toBe(404);
    },
  );

  test("there is no portal where it was not asked for", async () => {
    const without = await ownServer();
    expect((await fetch(`${without.publicUrl}/portal`)).status).toBe(404);
    expect((await fetch(`${without.adminUrl}/console`)).status).toBe(200);
  });

  test("the root of the admin listener leads to the console, that of the public one to nothing for a program", async () => {
    const root = await fetch(server.adminUrl, { redirect: "manual" });
    expect([root.status, root.headers.get("location")]).toEqual([302, "/console"]);
    expect((await fetch(server.publicUrl)).status).toBe(404);
  });

  test("the portal has the name, colour and logo of the platform", async () => {
    const logo = `${import.meta.dir}/../../src/api/public/assets/profile-picture.png`;
    const look = ["--portal-name", 'Kite "TV"', "--portal-accent", "#ff8800", "--portal-logo", logo];
    const own = await ownServer({ args: ["--portal", ...look] });
    const html = await (await fetch(`${own.publicUrl}/portal`)).text();
    expect(html).toContain("<title>Kite &quot;TV&quot;</title>");
    const theme = await fetch(`${own.publicUrl}/portal/theme.css`);
    expect(theme.headers.get("content-type")).toStartWith("text/css");
    const colors = await theme.text();
    expect(colors).toContain("--accent: #ff8800");
    expect(colors).toContain("--on-accent: #0d0f13");
    const picture = await fetch(`${own.publicUrl}/portal/logo`);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect((await picture.bytes()).length).toBe(Bun.file(logo).size);
    // The sign-in page without scripts, too.
    const headers = { accept: "text/html" };
    const plain = await (await fetch(`${own.publicUrl}/oauth/authorize`, { headers })).text();
    expect(plain).toContain("<bdi>Kite &quot;TV&quot;</bdi> <small>Sign in</small>");
    expect(plain).not.toContain("On Air");
    expect(plain).toContain("--accent: #ff8800");
    const [, source = ""] = /<img src="([^"]*)"/.exec(plain) ?? [];
    const shown = await fetch(new URL(source, `${own.publicUrl}/oauth/authorize`));
    expect(shown.headers.get("content-type")).toBe("image/png");
  });
});

describe("a session of the console", () => {
  test("is a cookie that scripts cannot read and other sites do not send", async () => {
    const init = { method: "POST", headers: { ...page, authorization: `Bearer ${adminKey}` } };
    const plain = await fetch(`${server.adminUrl}/console/session`, init);
    expect(plain.headers.get("set-cookie")).toMatch(
      /^onair_console=onair_os_[\w-]{43}\.environment; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(await plain.json()).toMatchObject({ key: { role: "operator" } });
    const secured = { ...init.headers, "onair-page": "https" };
    const secure = await fetch(`${server.adminUrl}/console/session`, { ...init, headers: secured });
    expect(secure.headers.get("set-cookie")).toMatch(/^__Host-onair_console=.*; SameSite=Strict; Secure$/);
  });

  test.each([
    ["the page", { "onair-page": "http" }, 200],
    ["a link, a form or a picture of any site", { "sec-fetch-site": "none" }, 401],
    ["another site that knows the header", { "onair-page": "http", "sec-fetch-site": "cross-site" }, 401],
    ["another host of the domain", { "onair-page": "http", "sec-fetch-site": "same-site" }, 401],
    ["another origin by an old browser", { "onair-page": "http", origin: "https://evil.example" }, 401],
  ])("counts in a request of %s: %o → %d", async (_, headers, status) => {
    const cookie = await consoleCookie();
    const answer = await fetch(`${server.adminUrl}/admin/v1/applications`, {
      headers: { cookie, ...headers },
    });
    expect(answer.status).toBe(status);
  });

  test("behind https is no cookie that another host of the domain can set", async () => {
    const cookie = await consoleCookie();
    const secret = cookie.slice(cookie.indexOf("=") + 1);
    const status = async (scheme: string, name: string) => {
      const headers = { ...page, "onair-page": scheme, cookie: `${name}=${secret}` };
      return (await fetch(`${server.adminUrl}/console/session`, { headers })).status;
    };
    expect(await status("https", "__Host-onair_console")).toBe(200);
    expect(await status("https", "onair_console")).toBe(401);
    expect(await status("http", "onair_console")).toBe(200);
  });

  test("ends on the server when the person signs out, and with its key", async () => {
    const ask = (cookie: string) =>
      fetch(`${server.adminUrl}/console/session`, { headers: { ...page, cookie } });
    const cookie = await consoleCookie();
    const out = await fetch(`${server.adminUrl}/console/session`, {
      method: "DELETE",
      headers: { ...page, cookie },
    });
    expect([out.status, out.headers.get("set-cookie")]).toEqual([204, expect.stringContaining("Max-Age=0")]);
    expect((await ask(cookie)).status).toBe(401);
    const made = await server.admin("POST", "/admin/v1/keys", { name: "Ada", role: "reader" });
    const { id, key } = await json<{ id: string; key: string }>(made);
    const own = await consoleCookie(key);
    expect(await (await ask(own)).json()).toMatchObject({ key: { id, name: "Ada", role: "reader" } });
    const change = {
      method: "POST",
      body: "{}",
      headers: { ...page, cookie: own, "content-type": "application/json" },
    };
    expect((await fetch(`${server.adminUrl}/admin/v1/applications`, change)).status).toBe(403);
    await server.admin("DELETE", `/admin/v1/keys/${id}`);
    expect((await ask(own)).status).toBe(401);
  });

  test("lasts twelve hours", async () => {
    const clock = new Clock();
    const timed = await ownServer({ clock });
    const url = `${timed.adminUrl}/console/session`;
    const begun = await fetch(url, {
      method: "POST",
      headers: { ...page, authorization: `Bearer ${adminKey}` },
    });
    const headers = { ...page, cookie: cookieOf(begun) };
    clock.advance(12 * 3_600_000 - 1);
    expect((await fetch(url, { headers })).status).toBe(200);
    expect((await fetch(url, { method: "POST", headers })).status).toBe(400);
    clock.advance(1);
    expect((await fetch(url, { headers })).status).toBe(401);
  });

  test("begins no other one and ends its streams, also where a proxy in front asks for a password", async () => {
    const headers = { ...page, cookie: await consoleCookie(), authorization: `Basic ${btoa("ada:x")}` };
    const url = `${server.adminUrl}/console/session`;
    expect((await fetch(url, { method: "POST", headers })).status).toBe(400);
    const stream = await fetch(`${server.adminUrl}/admin/v1/outcomes`, { headers });
    expect(stream.status).toBe(200);
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(204);
    const name = `made ${crypto.randomUUID()}`;
    await server.admin("POST", "/admin/v1/keys", { name, role: "reader" });
    // It has an end; what was made after it is not in it.
    expect(await stream.text()).not.toContain("keys");
  });

  test("goes on behind a restart, but not where the key that began it was replaced", async () => {
    const data = ownDirectory();
    const asked = async (key: string, cookie: string | null) => {
      const own = await ownServer({ data, env: { ONAIR_ADMIN_KEY: key } });
      const url = `${own.adminUrl}/console/session`;
      const headers = cookie === null ? { ...page, authorization: `Bearer ${key}` } : { ...page, cookie };
      const answer = await fetch(url, { method: cookie === null ? "POST" : "GET", headers });
      await own.stop();
      return answer;
    };
    const cookie = cookieOf(await asked(adminKey, null));
    expect((await asked(adminKey, cookie)).status).toBe(200);
    expect((await asked("another-operator-key", cookie)).status).toBe(401);
  });

  test("is not begun by a wrong key, which is slowed down, nor by a program", async () => {
    const slow = await ownServer({ wrongKeyLimit: 2 });
    const begin = (key: string, headers: Record<string, string> = page) =>
      fetch(`${slow.adminUrl}/console/session`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${key}` },
      });
    const statuses = [];
    for (const key of ["wrong-one", "wrong-two", "wrong-three"]) statuses.push((await begin(key)).status);
    expect(statuses).toEqual([401, 401, 429]);
    expect((await begin(adminKey)).status).toBe(200);
    expect((await begin(adminKey, {})).status).toBe(400);
  });
});

describe("a session of the portal", () => {
  test("is an access token of the application that only the page can use", async () => {
    const { client_id, client_secret, id } = await server.application({ name: "Night bot" });
    const begun = await portalSession({ client_id, client_secret });
    expect(await begun.json()).toMatchObject({ application: { id, name: "Night bot" } });
    const cookie = cookieOf(begun);
    expect(begun.headers.get("set-cookie")).toContain("HttpOnly; SameSite=Strict");
    const get = (headers: Record<string, string>, path = "/public/v1/application") =>
      fetch(server.publicUrl + path, { headers: { cookie, ...headers } });
    expect((await get(page)).status).toBe(200);
    expect((await get({})).status).toBe(401);
    expect((await get({ ...page, "sec-fetch-site": "cross-site" })).status).toBe(401);
    expect((await get({ ...page, authorization: "Bearer wrong" })).status).toBe(401);
    const init = { method: "DELETE", headers: { ...page, cookie } };
    expect((await fetch(`${server.publicUrl}/portal/session`, init)).status).toBe(204);
    expect((await get(page)).status).toBe(401);
  });

  test("reads the event stream, until it ends", async () => {
    await server.load("users", [{ id: 70, username: "owner" }]);
    const own = await server.application({ delivery: "stream" });
    await subscribe(server, own, ["channel.followed"], 70);
    const headers = { ...page, cookie: cookieOf(await portalSession(own)) };
    const { body } = await fetch(server.publicUrl + streamPath, { headers });
    await publish(server, event("channel.followed", { broadcaster_user_id: 70 }));
    let text = "";
    for await (const chunk of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (!text.includes("event: channel.followed")) continue;
      await server.admin("DELETE", `/admin/v1/applications/${own.id}/tokens`);
    }
    expect(text).toContain("event: channel.followed");
  });

  test("is not begun from elsewhere, with a wrong secret, or by an application without one", async () => {
    const { client_id, client_secret } = await server.application();
    const elsewhere = { ...page, "sec-fetch-site": "cross-site" };
    expect((await portalSession({ client_id, client_secret }, elsewhere)).status).toBe(400);
    expect((await portalSession({ client_id, client_secret }, {})).status).toBe(400);
    const wrong = await portalSession({ client_id, client_secret: "onair_cs_wrong" });
    expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="onair"']);
    const open = await server.application({ client_type: "public", redirect_uris: ["http://127.0.0.1/cb"] });
    expect((await portalSession({ client_id: open.client_id })).status).toBe(401);
  });

  test.each<[string, string, string, object | undefined]>([
    ["the application's tokens", "DELETE", "/tokens", undefined],
    ["its client secret", "POST", "/client-secret", {}],
    ["its owner", "PATCH", "", { owner_user_id: 70 }],
  ])("ends with %s, and with that of no other application", async (_, method, path, body) => {
    await server.load("users", [{ id: 70, username: "owner" }]);
    const [own, other] = [await server.application(), await server.application()];
    const [cookie, others] = [cookieOf(await portalSession(own)), cookieOf(await portalSession(other))];
    const status = async (cookie: string) =>
      (await fetch(`${server.publicUrl}/portal/session`, { headers: { ...page, cookie } })).status;
    const change = (method: string, path: string, body?: object) =>
      server.admin(method, `/admin/v1/applications/${own.id}${path}`, body);
    expect((await change("PATCH", "", { rate_limit: 500 })).status).toBe(200);
    expect([await status(cookie), await status(others)]).toEqual([200, 200]);
    expect((await change(method, path, body)).ok).toBe(true);
    expect([await status(cookie), await status(others)]).toEqual([401, 200]);
    expect((await server.get("/public/v1/application", own.token)).ok).toBe(path !== "/tokens");
  });
});

describe("look-ups of the pages", () => {
  test("users by name, the ranking, and who is live in a category", async () => {
    await server.load("users", [{ id: 7, username: "luna_bytes" }]);
    await server.load("categories", [category(1, "Chess"), category(2, "Cooking")]);
    await server.load("channels", [{ id: 70, user_id: 7, name: "Luna", slug: "luna" }]);
    await server.load("livestreams", [{ channel_id: 70, category_id: 2, viewers: 12 }]);
    const get = async (path: string) => (await server.admin("GET", path)).json();
    expect(await get("/admin/v1/users/search?query=luna")).toMatchObject({
      data: [{ id: 7, username: "luna_bytes" }],
    });
    expect(await get("/admin/v1/ranking?name=c")).toMatchObject({
      data: [
        { id: 2, viewers: 12, live_channels: 1 },
        { id: 1, viewers: 0, live_channels: 0 },
      ],
    });
    expect(await get("/admin/v1/ranking/2")).toMatchObject({
      data: { name: "Cooking", channels: [{ id: 70, name: "Luna", viewers: 12 }] },
    });
    expect((await server.admin("GET", "/admin/v1/ranking/99")).status).toBe(404);
  });

  test("users by id, by names of one and two characters, and several by their ids", async () => {
    await server.load("users", [
      { id: 8, username: "a7", display_name: "花" },
      { id: 71, username: "seven", display_name: "7" },
    ]);
    const found = async (query: string) => {
      const path = `/admin/v1/users/search?query=${encodeURIComponent(query)}`;
      const { data } = await json<{ data: { id: number }[] }>(await server.admin("GET", path));
      return data.map(({ id }) => id);
    };
    expect(await found("7")).toEqual([7, 8, 71]);
    expect(await found("花")).toEqual([8]);
    expect(await found("a7")).toEqual([8]);
    expect(await found("9007199254740993")).toEqual([]);
    const { data } = await json<{ data: unknown }>(
      await server.admin("GET", "/admin/v1/users?id=71,99,8,71"),
    );
    expect(data).toEqual([
      { id: 71, username: "seven", display_name: "7", ...unpopular },
      { id: 8, username: "a7", display_name: "花", ...unpopular },
    ]);
  });

  test("channels and livestreams, with their owners, categories and subscriptions", async () => {
    const own = await ownServer();
    await own.load("users", [
      { id: 1, username: "maya", display_name: "Maya", followers_count: 5 },
      { id: 2, username: "luna", display_name: "花火" },
    ]);
    await own.load("categories", [category(1, "Chess"), category(2, "Cooking")]);
    await own.load("channels", [
      { id: 10, user_id: 1, slug: "maya" },
      { id: 20, user_id: 2, slug: "moon", name: "Moon" },
      { id: 30, user_id: 2, slug: "sun", name: "Sun" },
    ]);
    await own.load("livestreams", [
      { channel_id: 10, category_id: 1, viewers: 3, title: "Kings" },
      { channel_id: 20, category_id: 2, viewers: 3 },
      { channel_id: 30, category_id: 2, viewers: 9 },
    ]);
    await subscribe(
      own,
      await own.application({ delivery: "stream" }),
      ["channel.followed", "chat.message.sent"],
      2,
    );
    const ids = async (path: string) => {
      const page = await json<ListPage>(await own.admin("GET", path));
      return [page.data.map(({ id }) => id), page.pagination.has_more];
    };
    const first = await json<ListPage>(await own.admin("GET", "/admin/v1/channels/search?limit=1"));
    expect(first).toMatchObject({
      data: [
        { id: 10, slug: "maya", display_name: "Maya", followers_count: 5, viewers: 3, subscriptions: 0 },
      ],
      pagination: { has_more: true },
    });
    const { cursor } = first.pagination;
    expect(await ids(`/admin/v1/channels/search?limit=2&cursor=${cursor}`)).toEqual([[20, 30], false]);
    expect(await ids("/admin/v1/channels/search?find=花火")).toEqual([[20, 30], false]);
    expect(await ids("/admin/v1/channels/search?find=sun")).toEqual([[30], false]);
    expect(await ids("/admin/v1/channels/search?find=2&user_id=1")).toEqual([[], false]);
    const live = await json<ListPage>(await own.admin("GET", "/admin/v1/livestreams/search?limit=2"));
    expect(live).toMatchObject({
      data: [
        { id: 30, category_id: 2, category_name: "Cooking", viewers: 9, username: "luna", subscriptions: 2 },
        { id: 10, category_name: "Chess", title: "Kings" },
      ],
      pagination: { has_more: true },
    });
    const next = `limit=2&cursor=${live.pagination.cursor}`;
    expect(await ids(`/admin/v1/livestreams/search?${next}`)).toEqual([[20], false]);
    expect(await ids("/admin/v1/livestreams/search?category_id=2")).toEqual([[30, 20], false]);
    expect(await ids("/admin/v1/livestreams/search?user_id=1")).toEqual([[10], false]);
    expect(await ids("/admin/v1/livestreams/search?user_id=1&category_id=2")).toEqual([[], false]);
  });

  test("the event types that can be published, with what kind each is", async () => {
    const type = { version: 1, schema: { type: "object" }, example: {} };
    await server.admin("PUT", "/admin/v1/event-types/raid.started", type);
    const { data } = await json<{ data: { name: string; is_built_in: boolean }[] }>(
      await server.admin("GET", "/admin/v1/catalogue"),
    );
    expect(data.find(({ name }) => name === "channel.followed")?.is_built_in).toBe(true);
    expect(data.find(({ name }) => name === "raid.started")?.is_built_in).toBe(false);
  });
});

test.each([
  ["a token of its own", "/oauth/token", { grant_type: "client_credentials" }],
  ["a session of the portal", "/portal/session", {}],
])("%s is not given for a secret that ends meanwhile", async (_, path, fields) => {
  const { id, client_id, client_secret } = await server.application();
  const own = `/admin/v1/applications/${id}`;
  const { applications } = server.app.store;
  const checked = applications.clientSecretHashes.bind(applications);
  let rotated: Promise<Response[]> | null = null;
  using _spy = spyOn(applications, "clientSecretHashes").mockImplementation(async (...given) => {
    const hashes = await checked(...given);
    rotated ??= (async () => [
      await server.admin("POST", `${own}/client-secret`, { overlap_seconds: 0 }),
      await server.admin("DELETE", `${own}/tokens`),
    ])();
    expect((await rotated).map(({ ok }) => ok)).toEqual([true, true]);
    return hashes;
  });
  const body = new URLSearchParams({ ...fields, client_id, client_secret });
  const answer = await fetch(server.publicUrl + path, { method: "POST", headers: page, body });
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: "invalid_client" }]);
  expect(await server.app.store.tokens.ofApplication(id, 0, 10)).toEqual([]);
});
