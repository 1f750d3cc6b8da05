import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { isoTime } from "../../src/domain/time.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { ownReceiver } from "../support/receiver.ts";
import { Clock, category, channel, json, ndjson, ownServer, startServer, user } from "../support/server.ts";
import { type SmallPlatform, smallPlatform } from "../support/small-platform.ts";

let platform: SmallPlatform;

// One server for all of them: what is refused changes nothing.
describe("refused rows", () => {
  beforeAll(async () => {
    platform = await smallPlatform(startServer);
  });
  afterAll(() => platform.server.stop());

  test.each([
    ["users/1", { username: "one" }, "profile_picture"],
    ["categories/5", { name: "Chess", slug: "chess" }, "icon"],
    ["categories/5", { name: "Chess", slug: "chess" }, "banner"],
    ["channels/11", { user_id: 1, slug: "one" }, "profile_image"],
  ])(
    "a record of %s with the rest of %p takes an address for its %s only where it can be read as one",
    async (path, rest, field) => {
      const put = (address: string) =>
        platform.server.admin("PUT", `/admin/v1/${path}`, { ...rest, [field]: address });
      for (const address of [
        "http://[",
        "https://%",
        "http://a:99999/",
        "https://1.2.3.4.5/",
        "ftp://a.example/",
      ]) {
        const answer = await put(address);
        const { errors } = await json<{ errors: object[] }>(answer);
        expect([address, answer.status]).toEqual([address, 400]);
        expect(errors).toEqual([{ in: "body", field, message: "must be an http or https URL or null" }]);
      }
      const batch = path.replace(/\/.*/, "/batch");
      const line = JSON.stringify({ id: Number(path.split("/")[1]), ...rest, [field]: "http://[" });
      expect(
        await json<object>(await platform.server.admin("POST", `/admin/v1/${batch}`, line)),
      ).toMatchObject({
        rejected: 1,
      });
      expect((await put("https://bücher.example/größe?x=%zz")).status).toBe(200);
    },
  );

  const tagged = (id: number, name: string) => category(7, "X", { tags: [{ id, name }] });
  const isPath = "because it is a path of the public API";
  test.each<[string, object, number, string]>([
    ["users/3", { username: "ONE" }, 409, 'username "ONE" is taken by user 1'],
    ["users/3", { username: "search" }, 409, `username "search" is reserved, ${isPath}`],
    ["categories/7", { name: "X", slug: "chess" }, 409, 'slug "chess" is taken by category 5'],
    ["categories/7", tagged(9, "Calm"), 409, 'tag "Calm" has the id 2 here, not 9'],
    ["categories/7", tagged(1, "New"), 409, 'tag id 1 is taken by "Board game"'],
    ["channels/13", { user_id: 1, slug: "two" }, 409, 'slug "two" is taken by channel 12'],
    ["channels/13", { user_id: 99, slug: "x" }, 409, "user_id 99 is not a known user: import users first"],
    ["channels/13", { id: 14, user_id: 1, slug: "x" }, 400, "id must be the id of the path"],
  ])("%s with %j is %i and changes nothing", async (path, body, status, message) => {
    const before = await platform.everything();
    const answer = await platform.server.admin("PUT", `/admin/v1/${path}`, body);
    expect([answer.status, (await json<{ message: string }>(answer)).message]).toEqual([status, message]);
    expect(await platform.everything()).toBe(before);
  });
});

describe("one record", () => {
  beforeEach(async () => {
    platform = await smallPlatform(ownServer);
  });

  const bio = "Hello.\nWorld.";
  const counts = { followers_count: 0, following_count: 0, is_verified: false };
  const names = { username: "three", display_name: "three" };
  const ofUser = {
    id: 3,
    ...names,
    bio,
    profile_picture: null,
    ...counts,
    created_at: isoTime(new Clock().ms),
  };
  const ofChannel = { name: "second", profile_image: null };
  const [shogi, tags] = [category(7, "Shogi"), [{ id: 2, name: "Calm" }]];
  const ofCategory = { ...shogi, icon: null, banner: null, description: "", tags };

  test.each<[string, string, object, object]>([
    ["users/3", "user", { username: "three", bio }, ofUser],
    ["categories/7", "category", { ...shogi, tags: ["Calm"] }, ofCategory],
    ["channels/13", "channel", { user_id: 2, slug: "second" }, channel(13, "second", 2, ofChannel)],
  ])("of %s is put, got, put again without a change, and deleted twice", async (path, one, body, record) => {
    const address = `/admin/v1/${path}`;
    expect((await platform.server.admin("GET", address)).status).toBe(404);
    const put = await platform.server.admin("PUT", address, body);
    const picture = `${platform.server.publicUrl}/assets/profile-picture.png`;
    const answer = { [one]: record, ...(one === "user" && { picture }), message: "OK" };
    expect([put.status, await json<object>(put)]).toEqual([200, answer]);
    const before = await platform.everything();
    platform.clock.advance(1_000);
    expect(await json<object>(await platform.server.admin("PUT", address, body))).toEqual(answer);
    expect(await platform.everything()).toBe(before);
    expect(await json<object>(await platform.server.admin("GET", address))).toEqual(answer);
    for (let i = 0; i < 2; i++) {
      const gone = await platform.server.admin("DELETE", address);
      expect([gone.status, await gone.text()]).toEqual([204, ""]);
    }
    expect((await platform.server.admin("GET", address)).status).toBe(404);
  });
});

test("optional fields of a user, category or livestream may be null, and are shown as empty", async () => {
  platform = await smallPlatform(ownServer);
  const { server } = platform;
  const users = [{ id: 3, username: "three", bio: null, profile_picture: null }];
  const categories = [{ ...category(7, "Shogi"), description: null, tags: null, icon: null, banner: null }];
  for (const [kind, rows] of Object.entries({ users, categories })) {
    const put = await server.admin("POST", `/admin/v1/${kind}/batch`, ndjson(rows));
    expect(await json<object>(put)).toMatchObject({ accepted: 1, rejected: 0 });
  }
  const live = { channel_id: 11, category_id: 7, viewers: 1, title: null, language: null };
  const put = await server.admin("PUT", "/admin/v1/livestreams", ndjson([live]));
  expect(await json<object>(put)).toMatchObject({ accepted: 1, rejected: 0 });
  const exported = await (await server.admin("GET", "/admin/v1/livestreams")).text();
  expect(exported).toContain('"title":"","language":""');
  const { token } = await server.application();
  const user = await server.get("/public/v1/users/three", token);
  expect(await json<object>(user)).toMatchObject({ user: { bio: "", profile_picture: expect.any(String) } });
  const shown = { description: "", tags: [], icon: expect.any(String), banner: expect.any(String) };
  const found = await server.get("/public/v1/categories/7");
  expect(await json<object>(found)).toMatchObject({ category: shown });
});

describe("deleting", () => {
  beforeEach(async () => {
    platform = await smallPlatform(ownServer);
  });

  test("a user takes along profile, search, channel, livestream, tokens and subscriptions", async () => {
    const failing = ownReceiver(() => new Response(null, { status: 500 }));
    const app = await platform.server.application({ webhook_url: failing.url });
    for (const broadcaster of [1, 2])
      await subscribe(platform.server, app, ["channel.followed"], broadcaster);
    expect(
      (await publish(platform.server, event("channel.followed", { broadcaster_user_id: 1 }))).status,
    ).toBe(202);
    await failing.arrived(1);
    const { store } = platform.server.app;
    const hash = new Uint8Array(32);
    const expiresAt = platform.clock.ms + 1e6;
    await store.tokens.create(hash, {
      applicationId: app.id,
      userId: 1,
      scopes: ["users:read"],
      createdAt: 0,
      expiresAt,
    });
    expect((await platform.server.get("/public/v1/users/one", platform.reader.token)).status).toBe(200);
    expect(await platform.found("one")).toEqual([1, 2]);
    expect(await platform.shown(5)).toMatchObject({ viewers: 10, top_channels: [{ id: 11 }, { id: 12 }] });

    expect((await platform.server.admin("DELETE", "/admin/v1/users/1")).status).toBe(204);
    expect((await platform.server.get("/public/v1/users/one", platform.reader.token)).status).toBe(404);
    expect(await platform.found("one")).toEqual([2]);
    expect(await platform.shown(5)).toMatchObject({ viewers: 3, top_channels: [{ id: 12 }] });
    expect((await platform.server.admin("GET", "/admin/v1/channels/11")).status).toBe(404);
    expect(await store.tokens.find(hash)).toBeNull();
    expect(await store.deliveries.pending()).toEqual([]);
    const left = await store.subscriptions.ofApplication(app.id);
    expect(left.map(({ broadcaster_user_id }) => broadcaster_user_id)).toEqual([2]);
    // The name is free, and whoever gets it has nothing of the one before.
    await platform.server.load("users", [user(4, "one")]);
    expect(await platform.found("one")).toEqual([4, 2]);
  });

  test("a category ends its livestreams and stops showing at once", async () => {
    expect((await platform.server.admin("DELETE", "/admin/v1/categories/5")).status).toBe(204);
    expect((await platform.server.get("/public/v1/categories/5")).status).toBe(404);
    const list = await json<{ categories: { id: number }[] }>(
      await platform.server.get("/public/v1/categories"),
    );
    expect(list.categories.map(({ id }) => id)).toEqual([6]);
    expect(await (await platform.server.admin("GET", "/admin/v1/livestreams")).text()).toBe("");
    expect((await platform.server.admin("GET", "/admin/v1/channels/11")).status).toBe(200);
    // A category that comes again starts without viewers.
    await platform.server.load("categories", [category(5, "Chess")]);
    expect((await platform.shown(5)).viewers).toBe(0);
  });

  test("a channel ends its livestream, a livestream leaves its channel", async () => {
    expect((await platform.server.admin("DELETE", "/admin/v1/channels/11")).status).toBe(204);
    expect(await platform.shown(5)).toMatchObject({ viewers: 3, top_channels: [{ id: 12 }] });
    for (let i = 0; i < 2; i++) {
      expect((await platform.server.admin("DELETE", "/admin/v1/livestreams/12")).status).toBe(204);
      expect(await platform.shown(5)).toMatchObject({ viewers: 0, top_channels: [] });
    }
    expect((await platform.server.admin("GET", "/admin/v1/channels/12")).status).toBe(200);
    expect((await platform.server.admin("DELETE", "/admin/v1/livestreams/x")).status).toBe(400);
  });
});
