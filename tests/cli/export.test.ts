import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../src/dev/chance.ts";
import { dataKinds } from "../../src/platform/platform-data.ts";
import { expectFailure, printedJson, run, untimed } from "../support/process.ts";
import { adminKey, json, startServer, type TestServer, testDirectory } from "../support/server.ts";

const directory = testDirectory();
const env = { ONAIR_ADMIN_KEY: adminKey };
const args = ["--public-url", "https://api.example.com"];

const seed = Math.floor(Math.random() * 2 ** 32);
const random = seeded(seed);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
const below = (n: number) => Math.floor(random() * n);
const words = [
  "alpha",
  "Beta",
  "日本語テスト",
  "Ünïcødé",
  'quote "x"',
  "back\\slash",
  "emoji 🎮",
  "line",
  "mañana",
];
const tagNames = Array.from({ length: 12 }, (_, i) => `${pick(words)} ${i}`);
const maybe = <T>(value: T): T | undefined => (random() < 0.5 ? value : undefined);

const userRow = (id: number) => ({
  id,
  username: `user-${id}_${below(100)}`,
  display_name: maybe(`${pick(words)} ${pick(words)}`),
  bio: maybe(`${pick(words)}\n${pick(words)}`),
  profile_picture: maybe(random() < 0.5 ? null : `https://img.example/${id}.png`),
  followers_count: maybe(below(3) === 0 ? below(2 ** 40) : below(300)),
  following_count: maybe(below(500)),
  is_verified: maybe(random() < 0.5),
  created_at: maybe(`20${10 + below(15)}-0${1 + below(9)}-1${below(9)}T0${below(9)}:00:00.${below(1000)}Z`),
});
const categoryRow = (id: number) => ({
  id,
  name: `${pick(words)} ${below(50)}`,
  slug: `slug-${id}-${below(9)}`,
  icon: maybe("https://img.example/icon.png"),
  banner: maybe(null),
  description: maybe(pick(words)),
  tags: maybe(Array.from({ length: below(5) }, () => pick(tagNames))),
});
const channelRow = (id: number) => ({
  id: id + 1000,
  user_id: id,
  slug: `channel-${id}`,
  name: maybe(pick(words)),
  profile_image: maybe(random() < 0.5 ? null : "https://img.example/c.png"),
});
const liveRow = (id: number) => ({
  channel_id: id + 1000,
  category_id: 1 + below(30),
  viewers: below(5000),
  title: maybe(pick(words)),
  language: maybe("en"),
});
const ids = Array.from({ length: 300 }, (_, i) => i + 1);

/** A server with changed and deleted rows. */
async function fill(server: TestServer): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const some = ids.filter(() => round === 0 || random() < 0.3);
    await server.load("users", some.map(userRow));
    await server.load(
      "categories",
      ids
        .slice(0, 30)
        .toSorted(() => random() - 0.5)
        .map(categoryRow),
    );
    await server.load("channels", some.map(channelRow));
    await server.load("livestreams", some.filter(() => random() < 0.6).map(liveRow));
  }
  for (const path of ["users/17", "users/200", "channels/1030", "livestreams/1040", "categories/9"]) {
    expect((await server.admin("DELETE", `/admin/v1/${path}`)).status).toBe(204);
  }
}

/** The answers of the public API to many requests. */
async function answers(server: TestServer): Promise<string[]> {
  const { token } = await server.application();
  const rows = await (await server.admin("GET", "/admin/v1/users/batch")).text();
  const names = rows
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { username: string }).username);
  const paths = [
    ...names.map((name) => `/public/v1/users/${name}`),
    ...["user", "alp", "beta", "日本語", "unicode", "quote", "nobody"].map(
      (query) => `/public/v1/users/search?limit=100&query=${encodeURIComponent(query)}`,
    ),
    ...["", "?limit=100", "?limit=100&name=alpha"].map((query) => `/public/v1/categories${query}`),
    ...ids.slice(0, 31).map((id) => `/public/v1/categories/${id}`),
  ];
  return Promise.all(
    paths.map(async (path) => {
      const answer = await server.get(path, token);
      const text = await answer.text();
      // Request ids differ in each request, and cursors are signed with a key of each server.
      const plain = text.replace(/"request_id":"[^"]*"/, "").replace(/"cursor":"[^"]+"/, "");
      return `${path} ${answer.status} ${plain}`;
    }),
  );
}

test("export, then import into an empty directory, gives the same answers", async () => {
  const [source, copy] = [join(directory, "source"), join(directory, "copy")];
  const server = await startServer({ data: source, args });
  await fill(server);
  const before = await answers(server);
  expect(before.length).toBeGreaterThan(300);
  const file = (kind: string) => join(directory, `${kind}.ndjson`);
  const counts: Record<string, number> = {};
  for (const kind of dataKinds) {
    const args = ["export", kind, file(kind), "--url", server.adminUrl];
    counts[kind] = (await printedJson<{ rows: number }>(args, { env })).rows;
  }
  expect(counts).toMatchObject({ users: 298, categories: 29, channels: 297 });
  expect(counts["livestreams"]).toBeGreaterThan(50);
  await server.stop();

  for (const kind of dataKinds) {
    const result = untimed(await run(["import", kind, file(kind), "--data", copy]));
    expect([seed, kind, result]).toEqual([
      seed,
      kind,
      {
        code: 0,
        stdout: `${counts[kind]} accepted, 0 rejected${kind === "livestreams" ? ", 0 livestreams ended" : ""}\n`,
        stderr: "",
      },
    ]);
  }
  const second = await startServer({ data: copy, args });
  const after = await answers(second);
  await second.stop();
  expect([seed, after]).toEqual([seed, before]);
  for (const kind of dataKinds) {
    const again = await run(["export", kind, "--data", copy]);
    expect([kind, again.code, again.stdout === readFileSync(file(kind), "utf8")]).toEqual([kind, 0, true]);
  }
});

describe("onair export", () => {
  let server: TestServer;
  const data = join(directory, "served");
  beforeAll(async () => {
    server = await startServer({ data });
    await server.load("users", [{ id: 1, username: "one" }]);
  });
  afterAll(() => server.stop());

  test("replaces a file only with the option for it, and leaves no partial file", async () => {
    const file = join(directory, "mine.txt");
    writeFileSync(file, "mine");
    const refused = await run(["export", "users", file, "--url", server.adminUrl], { env });
    expect([refused.code, readFileSync(file, "utf8")]).toEqual([2, "mine"]);
    const failed = await run(["export", "users", file, "--force", "--url", "http://127.0.0.1:9"], { env });
    expect([failed.code, readFileSync(file, "utf8")]).toEqual([1, "mine"]);
    expect(failed.stderr).toContain("http://127.0.0.1:9 cannot be reached");
    const done = await run(["export", "users", file, "--force", "--url", server.adminUrl], { env });
    expect(untimed(done)).toEqual({ code: 0, stdout: "1 row\n", stderr: "" });
    expect(await json<object>(new Response(readFileSync(file, "utf8")))).toMatchObject({
      id: 1,
      username: "one",
    });
    expect(existsSync(`${file}.partial`)).toBe(false);
  });

  test.each<[string[], string]>([
    [["people"], "The kind must be one of users, categories, channels, livestreams"],
    [["users", "-", "x"], '"x" is not expected here'],
    [["users", "--data", "/nowhere-at-all"], "There is no data in /nowhere-at-all"],
    [["users", "--url", "http://x", "--data", "y"], "exclude each other"],
  ])("%j is wrong usage", async (words, message) => {
    expectFailure(await run(["export", ...words], { env, cwd: directory }), 2, message);
    expect(existsSync("/nowhere-at-all")).toBe(false);
  });
});
