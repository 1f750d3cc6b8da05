import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { atomicLimits } from "../../src/batch/apply.ts";
import { isoTime } from "../../src/domain/time.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { ownReceiver } from "../support/receiver.ts";
import { category, channel, live, ndjson, user } from "../support/rows.ts";
import {
  Clock,
  json,
  ownServer,
  startServer,
  type TestApplication,
  type TestServer,
} from "../support/server.ts";

interface Report {
  readonly errors: readonly object[];
}

let server: TestServer;
let reader: TestApplication;
let clock: Clock;

/** Has the tests run against a new server with some data. */
async function begin(start: typeof ownServer): Promise<void> {
  clock = new Clock();
  const users = [user(1, "one", { followers_count: 10 }), user(2, "two", { display_name: "One's twin" })];
  server = await start({ clock, users });
  const chess = category(5, "Chess", { tags: ["Board game", "Calm"] });
  await server.load("categories", [chess, category(6, "Go", { tags: ["Calm"] })]);
  await server.load("channels", [channel(11, "one", 1), channel(12, "two", 2)]);
  await server.load("livestreams", [live(11, 5, 7), live(12, 5, 3)]);
  reader = await server.application();
}

/** Everything that the store holds of the platform's data, to see what has changed. */
const everything = async () => {
  const parts = ["users/batch", "categories/batch", "channels/batch", "livestreams"];
  const texts = parts.map(async (part) => (await server.admin("GET", `/admin/v1/${part}`)).text());
  return (await Promise.all(texts)).join("---\n");
};
const shown = async (id: number) => {
  clock.advance(2_000);
  const answer = await server.get(`/public/v1/categories/${id}`);
  return (await json<{ category: { viewers: number; top_channels: { id: number }[] } }>(answer)).category;
};
const found = async (query: string) => {
  const answer = await server.get(`/public/v1/users/search?query=${query}`, reader.token);
  return (await json<{ data: { id: number }[] }>(answer)).data.map(({ id }) => id);
};

const put = (path: string, rows: readonly unknown[]) =>
  server.admin(path.startsWith("livestreams") ? "PUT" : "POST", `/admin/v1/${path}`, ndjson(rows));
const report = async (path: string, rows: readonly unknown[]) => json<Report>(await put(path, rows));

// One server for all of them: what is refused changes nothing.
describe("what is refused", () => {
  beforeAll(() => begin(startServer));
  afterAll(() => server.stop());

  const lives = [live(11, 6, 100), live(19, 6, 1)];

  test.each([
    ["users/1", { username: "one" }, "profile_picture"],
    ["categories/5", { name: "Chess", slug: "chess" }, "icon"],
    ["categories/5", { name: "Chess", slug: "chess" }, "banner"],
    ["channels/11", { user_id: 1, slug: "one" }, "profile_image"],
  ])(
    "a record of %s with the rest of %p takes an address for its %s only where it can be read as one",
    async (path, rest, field) => {
      const put = (address: string) =>
        server.admin("PUT", `/admin/v1/${path}`, { ...rest, [field]: address });
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
      expect(await json<object>(await server.admin("POST", `/admin/v1/${batch}`, line))).toMatchObject({
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
    ["users/3", {}, 400, "username is required"],
    ["users/3", [], 400, "body must be an object"],
    ["users/x", { username: "x" }, 400, "id must be an integer from 1 to 9007199254740991"],
    ["categories/7", { name: "X", slug: "chess" }, 409, 'slug "chess" is taken by category 5'],
    ["categories/7", tagged(9, "Calm"), 409, 'tag "Calm" has the id 2 here, not 9'],
    ["categories/7", tagged(1, "New"), 409, 'tag id 1 is that of "Board game"'],
    ["channels/13", { user_id: 1, slug: "two" }, 409, 'slug "two" is taken by channel 12'],
    ["channels/13", { user_id: 99, slug: "x" }, 409, "user_id 99 is not a known user: import users first"],
    ["categories/7", { name: "X" }, 400, "slug is required"],
    ["channels/0", { user_id: 1, slug: "x" }, 400, "id must be an integer from 1 to 9007199254740991"],
    ["channels/13", { id: 14, user_id: 1, slug: "x" }, 400, "id must be the id of the path"],
  ])("%s with %j is %i and changes nothing", async (path, body, status, message) => {
    const before = await everything();
    const answer = await server.admin("PUT", `/admin/v1/${path}`, body);
    expect([answer.status, (await json<{ message: string }>(answer)).message]).toEqual([status, message]);
    expect(await everything()).toBe(before);
  });

  test.each<[string, unknown[], number, string]>([
    [
      "users/batch",
      [user(3, "three"), user(1, "renamed"), user(4, "TWO")],
      3,
      'username "TWO" is taken by user 2',
    ],
    ["users/batch", [user(3, "three"), "", "{"], 3, "The line is not valid JSON"],
    [
      "categories/batch",
      [category(7, "X", { tags: ["New"] }), category(8, "Go")],
      2,
      'slug "go" is taken by category 6',
    ],
    [
      "channels/batch",
      [channel(13, "x", 1), channel(14, "y", 9)],
      2,
      "user_id 9 is not a known user: import users first",
    ],
    ["livestreams", lives, 2, "channel_id 19 is not a known channel"],
    ["livestreams?snapshot=true", lives, 2, "channel_id 19 is not a known channel"],
  ])("%s with one refused line takes none", async (path, rows, line, message) => {
    const before = await everything();
    const answer = await put(`${path}${path.includes("?") ? "&" : "?"}atomic=true`, rows);
    const none = { accepted: 0, rejected: 1, ignored_fields: 0, errors: [{ line, message }] };
    expect([answer.status, await json<object>(answer)]).toEqual([200, none]);
    expect(await everything()).toBe(before);
    expect([(await shown(5)).viewers, (await shown(6)).viewers]).toEqual([10, 0]);
    expect([await found("three"), await found("one")]).toEqual([[], [1, 2]]);
  });

  test.each([
    [user(3, "one"), 3, 'username "one" is taken by user 2'],
    [user(2, "two"), 1, 'username "two" is taken by user 2'],
  ])("names that are swapped stay as they were beside the line %j", async (last, line, message) => {
    const before = await everything();
    const { errors } = await report("users/batch?atomic=true", [user(1, "two"), user(2, "one"), last]);
    expect(errors.at(-1)).toMatchObject({ line, message });
    expect(await everything()).toBe(before);
    expect([await found("one"), await found("two")]).toEqual([[1, 2], [2]]);
  });
});

describe("one record", () => {
  beforeEach(() => begin(ownServer));

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
    expect((await server.admin("GET", address)).status).toBe(404);
    const put = await server.admin("PUT", address, body);
    const answer = { [one]: record, message: "OK" };
    expect([put.status, await json<object>(put)]).toEqual([200, answer]);
    const before = await everything();
    clock.advance(1_000);
    expect(await json<object>(await server.admin("PUT", address, body))).toEqual(answer);
    expect(await everything()).toBe(before);
    expect(await json<object>(await server.admin("GET", address))).toEqual(answer);
    for (let i = 0; i < 2; i++) {
      const gone = await server.admin("DELETE", address);
      expect([gone.status, await gone.text()]).toEqual([204, ""]);
    }
    expect((await server.admin("GET", address)).status).toBe(404);
  });
});

describe("deleting", () => {
  beforeEach(() => begin(ownServer));

  test("a user takes along profile, search, channel, livestream, tokens and subscriptions", async () => {
    const failing = ownReceiver(() => new Response(null, { status: 500 }));
    const app = await server.application({ webhook_url: failing.url });
    for (const broadcaster of [1, 2]) await subscribe(server, app, ["channel.followed"], broadcaster);
    expect((await publish(server, event("channel.followed", { broadcaster_user_id: 1 }))).status).toBe(202);
    await failing.arrived(1);
    const { store } = server.app;
    const hash = new Uint8Array(32);
    const expiresAt = clock.ms + 1e6;
    await store.tokens.create(hash, { applicationId: app.id, userId: 1, scopes: ["users:read"], expiresAt });
    expect((await server.get("/public/v1/users/one", reader.token)).status).toBe(200);
    expect(await found("one")).toEqual([1, 2]);
    expect(await shown(5)).toMatchObject({ viewers: 10, top_channels: [{ id: 11 }, { id: 12 }] });

    expect((await server.admin("DELETE", "/admin/v1/users/1")).status).toBe(204);
    expect((await server.get("/public/v1/users/one", reader.token)).status).toBe(404);
    expect(await found("one")).toEqual([2]);
    expect(await shown(5)).toMatchObject({ viewers: 3, top_channels: [{ id: 12 }] });
    expect((await server.admin("GET", "/admin/v1/channels/11")).status).toBe(404);
    expect(await store.tokens.find(hash)).toBeNull();
    expect(await store.deliveries.pending()).toEqual([]);
    const left = await store.subscriptions.ofApplication(app.id);
    expect(left.map(({ broadcaster_user_id }) => broadcaster_user_id)).toEqual([2]);
    // The name is free, and whoever gets it has nothing of the one before.
    await server.load("users", [user(4, "one")]);
    expect(await found("one")).toEqual([4, 2]);
  });

  test("a category ends its livestreams and stops showing at once", async () => {
    expect((await server.admin("DELETE", "/admin/v1/categories/5")).status).toBe(204);
    expect((await server.get("/public/v1/categories/5")).status).toBe(404);
    const list = await json<{ categories: { id: number }[] }>(await server.get("/public/v1/categories"));
    expect(list.categories.map(({ id }) => id)).toEqual([6]);
    expect(await (await server.admin("GET", "/admin/v1/livestreams")).text()).toBe("");
    expect((await server.admin("GET", "/admin/v1/channels/11")).status).toBe(200);
    // A category that comes again starts without viewers.
    await server.load("categories", [category(5, "Chess")]);
    expect((await shown(5)).viewers).toBe(0);
  });

  test("a channel ends its livestream, a livestream leaves its channel", async () => {
    expect((await server.admin("DELETE", "/admin/v1/channels/11")).status).toBe(204);
    expect(await shown(5)).toMatchObject({ viewers: 3, top_channels: [{ id: 12 }] });
    for (let i = 0; i < 2; i++) {
      expect((await server.admin("DELETE", "/admin/v1/livestreams/12")).status).toBe(204);
      expect(await shown(5)).toMatchObject({ viewers: 0, top_channels: [] });
    }
    expect((await server.admin("GET", "/admin/v1/channels/12")).status).toBe(200);
    expect((await server.admin("DELETE", "/admin/v1/livestreams/x")).status).toBe(400);
  });
});

describe("?atomic=true", () => {
  beforeEach(() => begin(ownServer));

  const took = (accepted: number) => ({ accepted, rejected: 0, ignored_fields: 0, errors: [] });

  test("takes all where none is refused", async () => {
    const users = [user(3, "three"), user(1, "renamed")];
    expect(await report("users/batch?atomic=true", users)).toEqual(took(2));
    expect(await found("renamed")).toEqual([1]);
    expect(await report("livestreams?atomic=true&snapshot=true", [live(12, 6, 4)])).toEqual(took(1));
    expect([(await shown(5)).viewers, (await shown(6)).viewers]).toEqual([0, 4]);
  });

  test("takes names that two give to each other, or pass on, and finds each by its new one", async () => {
    const swapped = [user(1, "TWO"), user(2, "one", { display_name: "Uno" })];
    expect(await report("users/batch?atomic=true", swapped)).toEqual(took(2));
    expect([await found("two"), await found("one"), await found("twin")]).toEqual([[1], [2], []]);
    const passed = [user(3, "two"), user(1, "one"), user(2, "other")];
    expect(await report("users/batch?atomic=true", passed)).toEqual(took(3));
    expect([await found("two"), await found("one"), await found("other")]).toEqual([[3], [1], [2]]);
    const channels = [channel(11, "two", 1), channel(12, "one", 2)];
    expect(await report("channels/batch?atomic=true", channels)).toEqual(took(2));
    const categories = [category(5, "Chess", { slug: "go" }), category(6, "Go", { slug: "chess" })];
    expect(await report("categories/batch?atomic=true", categories)).toEqual(took(2));
    const slugs = {
      "channels/11": "two",
      "channels/12": "one",
      "categories/5": "go",
      "categories/6": "chess",
    };
    for (const [path, slug] of Object.entries(slugs))
      expect(await (await server.admin("GET", `/admin/v1/${path}`)).text()).toContain(`"slug":"${slug}"`);
    expect(await everything()).not.toContain('" ');
  });

  test("without it, lines are kept one after the other, and a swap is refused", async () => {
    const swapped = [user(1, "two"), user(2, "one")];
    expect(await report("users/batch", swapped)).toMatchObject({ accepted: 0, rejected: 2 });
  });

  test("is bounded, and over the bound takes none", async () => {
    const before = await everything();
    const rows = Array.from({ length: atomicLimits.lines + 1 }, (_, i) => user(100 + i));
    const message = "An atomic batch may have at most 2,000 lines and 4 MiB; nothing was taken";
    const refused = { code: "body_too_large", message };
    const tooMany = await put("users/batch?atomic=true", rows);
    expect([tooMany.status, await json<object>(tooMany)]).toMatchObject([413, refused]);
    expect(await everything()).toBe(before);
    const long = Array<string>(50).fill("x".repeat(200_000));
    expect(await report("users/batch?atomic=true", long)).toMatchObject(refused);
    expect((await put("users/batch?atomic=true", rows.slice(0, atomicLimits.lines))).status).toBe(200);
  });
});
