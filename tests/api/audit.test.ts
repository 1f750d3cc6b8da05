import { describe, expect, test } from "bun:test";
import type { Audit } from "../../src/api/admin/audit.ts";
import { auditedActions } from "../../src/domain/audited-actions.ts";
import { backupsPath, beginBackup, endOfBackup, listedBackups } from "../support/backups.ts";
import { event } from "../support/publishing.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import {
  adminKey,
  Clock,
  isOnPostgres,
  json,
  ndjson,
  type TestServer,
  testServer,
} from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * Who changed what, when and from where, with old and new values of what is no secret.
 */

/** Recorded operations that are no changing operation of the admin API's document. */
const notInDocument = [
  "getBackupContent",
  "changeOwnApplication",
  "rotateOwnWebhookSecret",
  "enableOwnEndpoint",
  "beginConsoleSession",
  "endConsoleSession",
];

const clock = new Clock();
const server = await testServer({ clock });
await server.load("users", users);

const trail = async (query = "", of: TestServer = server): Promise<Audit[]> =>
  (await json<{ data: Audit[] }>(await of.admin("GET", `/admin/v1/audit${query}`))).data;

// What is counted is written some time later: not in the midst of a test.
await until(async () => (await trail("?object=users")).length === 1);

const asKey = (key: string, method: string, path: string, body?: object) =>
  server.admin(method, path, body, { authorization: `Bearer ${key}` });

async function namedKey(name: string, role: string): Promise<{ id: string; key: string }> {
  const made = await server.admin("POST", "/admin/v1/keys", { name, role });
  expect(made.status).toBe(201);
  return json(made);
}

const backupMade: [string, string, string, undefined] = ["createBackup", "POST", "backups", undefined];

describe("a change through the admin API", () => {
  test("is written down with key, action, object, fields and address, before it is acknowledged", async () => {
    const { id: keyId, key } = await namedKey("maya's laptop", "operator");
    const { id } = await server.application({ name: "Audited" });
    clock.advance(1_000);
    const changed = await asKey(key, "PATCH", `/admin/v1/applications/${id}`, {
      rate_limit: 77,
      webhook_url: "https://bot.example/?token=very-secret",
    });
    expect(changed.status).toBe(200);
    const at = new Date(clock.now()).toISOString();
    const [entry] = await trail("?limit=1");
    expect(entry).toEqual({
      at,
      last_at: at,
      count: 1,
      actor: { kind: "operator_key", id: keyId, name: "maya's laptop" },
      action: "changeApplication",
      summary: "Changed application",
      object: "applications",
      object_id: id,
      object_name: "Audited",
      fields: ["rate_limit", "webhook_url"],
      changes: [
        { field: "webhook_url", from: null, to: "https://bot.example/?token=…" },
        { field: "rate_limit", from: null, to: 77 },
      ],
      address: "127.0.0.1",
      request_id: changed.headers.get("x-request-id") ?? "",
      accepted: null,
      ended: null,
    });
  });

  test.each<[string, string, string, object | undefined]>([
    ["createApplication", "POST", "applications", { name: "New" }],
    ["deleteApplication", "DELETE", "applications/{id}", undefined],
    ["rotateWebhookSecret", "POST", "applications/{id}/webhook-secret", undefined],
    ["rotateClientSecret", "POST", "applications/{id}/client-secret", undefined],
    ["createToken", "POST", "applications/{id}/tokens", {}],
    ["enableEndpoint", "POST", "applications/{id}/endpoint/enable", undefined],
    ["createKey", "POST", "keys", { name: crypto.randomUUID(), role: "reader" }],
    // On PostgreSQL backups are not On Air's.
    ...(isOnPostgres ? [] : [backupMade]),
  ])("%s: with the id of its object, and without any secret", async (action, method, path, body) => {
    const app = await server.application();
    const answer = await server.admin(method, `/admin/v1/${path.replace("{id}", app.id)}`, body);
    expect(answer.ok).toBe(true);
    const text = await answer.text();
    const made = text === "" ? {} : (JSON.parse(text) as Record<string, string>);
    const [entry] = await trail("?limit=1");
    const [object = "", id = made["id"] ?? ""] = path.replace("{id}", app.id).split("/");
    expect(entry).toMatchObject({ action, object, object_id: id });
    const kept = JSON.stringify(await trail("?limit=100"));
    const secrets = [adminKey, app.client_secret, app.webhook_secret, app.token];
    const answered = ["client_secret", "webhook_secret", "access_token", "key"].flatMap(
      (name) => made[name] ?? [],
    );
    for (const secret of [...secrets, ...answered]) expect(kept).not.toContain(secret);
  });

  test("that was refused is none, and neither is a read", async () => {
    const { id } = await server.application();
    const before = await trail("?limit=1");
    const { key: reader } = await namedKey("reads", "reader");
    const [made] = await trail("?limit=1");
    expect((await asKey(reader, "PATCH", `/admin/v1/applications/${id}`, { name: "No" })).status).toBe(403);
    expect((await server.admin("PATCH", `/admin/v1/applications/${id}`, { rate_limit: -1 })).status).toBe(
      400,
    );
    expect((await server.admin("DELETE", "/admin/v1/keys/none")).status).toBe(404);
    expect((await server.admin("GET", `/admin/v1/applications/${id}`)).status).toBe(200);
    expect((await asKey("wrong", "DELETE", `/admin/v1/applications/${id}`)).status).toBe(401);
    const [after] = await trail("?limit=1");
    expect(after).toEqual(made as Audit);
    expect(after).not.toEqual(before[0] as Audit);
  });

  // PostgreSQL has backups of its own.
  test.skipIf(isOnPostgres)(
    "a download of a backup is written down like one, because it hands out every secret",
    async () => {
      // One may be there, or under way.
      const [one] = (await listedBackups(server)).data;
      const { id } = one ?? (await beginBackup(server));
      expect(await endOfBackup(server, id)).toMatchObject({ status: "done" });
      const content = await server.admin("GET", `${backupsPath}/${id}/content`);
      await content.body?.cancel();
      const [entry] = await trail("?limit=1");
      expect(entry).toMatchObject({
        action: "getBackupContent",
        object: "backups",
        object_id: id,
        fields: [],
      });
    },
  );

  test("of the platform's data and events is counted by key and hour", async () => {
    const { id, key } = await namedKey("platform", "publisher");
    for (let i = 0; i < 3; i++) {
      expect((await asKey(key, "POST", "/admin/v1/events", event("channel.followed"))).status).toBe(202);
      clock.advance(1_000);
    }
    const last = new Date(clock.now() - 1_000).toISOString();
    await until(async () => (await trail(`?key=${id}`))[0]?.count === 3);
    clock.advance(60 * 60 * 1_000);
    expect((await asKey(key, "POST", "/admin/v1/events", event("channel.followed"))).status).toBe(202);
    await until(async () => (await trail(`?key=${id}`)).length === 2);
    const [second, first] = await trail(`?key=${id}`);
    expect(first).toMatchObject({ count: 3, last_at: last, object: "events", object_id: null, fields: [] });
    expect(second).toMatchObject({ count: 1, object: "events" });
  });

  test("by each snapshot of livestreams has an entry of its own with its counts; other reports are counted", async () => {
    await server.load("categories", categories);
    await server.load("channels", channels);
    const { id, key } = await namedKey("snapshots", "publisher");
    const put = async (query: string, status: number, body: unknown) => {
      const headers = { authorization: `Bearer ${key}` };
      const path = `/admin/v1/livestreams${query}`;
      expect((await server.admin("PUT", path, body, headers)).status).toBe(status);
      clock.advance(1_000);
    };
    const all = ndjson(livestreams);
    const one = ndjson(livestreams.slice(0, 1));
    await put("", 200, all);
    await put("?snapshot=true", 200, ndjson([...livestreams, "{}"]));
    await put("?snapshot=false", 200, all);
    await put("?snapshot=true", 400, "");
    await put("?snapshot=true&atomic=true&confirm=true", 200, one);
    await put("?snapshot=true", 200, one);
    const reports = { action: "putLivestreams", object: "livestreams", object_id: null, fields: [] };
    await until(async () => (await trail(`?key=${id}`)).at(-1)?.count === 2);
    expect(await trail(`?key=${id}`)).toMatchObject([
      { ...reports, count: 1, accepted: 1, ended: 0 },
      { ...reports, count: 1, accepted: 1, ended: livestreams.length - 1 },
      { ...reports, count: 1, accepted: livestreams.length, ended: 0 },
      { ...reports, count: 2, accepted: null, ended: null },
    ]);
  });
});

describe("old and new values", () => {
  const last = async () => (await trail("?limit=1"))[0];
  const patch = async (id: string, body: object) => {
    expect((await server.admin("PATCH", `/admin/v1/applications/${id}`, body)).status).toBe(200);
    return (await last())?.changes;
  };

  test("are those of the fields that changed, whatever the request named", async () => {
    const { id } = await server.application({ name: "First", rate_limit: 5 });
    expect(await patch(id, { name: "Second", rate_limit: 5, locked: ["filters"] })).toEqual([
      { field: "name", from: "First", to: "Second" },
      { field: "locked", from: [], to: ["filters"] },
    ]);
    expect((await last())?.fields).toEqual(["name", "rate_limit", "locked"]);
    // The name of before finds what was done under it, and the id everything.
    expect(await trail("?application=First")).toHaveLength(1);
    expect(await trail("?application=Second")).toMatchObject([{ object_id: id, object_name: "Second" }]);
    expect(await trail(`?application=${id}`)).toHaveLength(2);
    expect((await server.admin("DELETE", `/admin/v1/applications/${id}`)).status).toBe(204);
    expect(await last()).toMatchObject({ action: "deleteApplication", object_name: "Second" });
    expect((await last())?.changes).toContainEqual({ field: "name", from: "Second", to: null });
  });

  const token = "Zx9dQ2bR7tW4mK8pL1vN";
  test.each<[string, object, object, object]>([
    [
      "a URL: values of the query, and long segments of the path",
      { webhook_url: `https://hooks.example/in/${token}/v1?key=hunter2&key=hunter2` },
      { webhook_url: "https://hooks.example/in" },
      { from: "https://hooks.example/in/…/v1?key=…&key=…", to: "https://hooks.example/in" },
    ],
    [
      "a URL whose secret has other characters, or is a query without a name",
      { webhook_url: `https://hooks.example/bot110201543:${token}/v1.${token}=?${token}` },
      { webhook_url: "https://hooks.example/in?hunter2" },
      { from: "https://hooks.example/…/…?…", to: "https://hooks.example/in?…" },
    ],
    [
      "a header, whose value may be all that changed",
      { webhook_url: "https://hooks.example/in", webhook_headers: { "X-Api-Key": "hunter2" } },
      { webhook_headers: { "X-Api-Key": `hunter2${token}` } },
      { from: { "X-Api-Key": "••••••••" }, to: { "X-Api-Key": "••••••••" } },
    ],
  ])("leave out what is secret in %s", async (_, before, after, change) => {
    const { id } = await server.application({ webhook_url: "https://hooks.example/first", ...before });
    const changes = await patch(id, after);
    expect(changes).toMatchObject([change]);
    const kept = JSON.stringify(await trail("?limit=5"));
    expect(kept).not.toContain("hunter2");
    expect(kept).not.toContain(token);
  });

  test("are cut when they are long", async () => {
    const bio = `a${"🙂".repeat(400)}`;
    expect((await server.admin("PUT", "/admin/v1/users/900", { username: "long", bio })).status).toBe(200);
    const change = (await last())?.changes.find(({ field }) => field === "bio");
    expect(change).toEqual({ field: "bio", from: null, to: `${bio.slice(0, 599)}…` });
  });
});

describe("a change of one record by an operator", () => {
  const user = { username: "renamed_one", display_name: "One", bio: "before" };
  const put = (key: string, id: number, body: object) => asKey(key, "PUT", `/admin/v1/users/${id}`, body);

  test("has an entry with its id, names and values; the same again is counted", async () => {
    const { id: keyId, key } = await namedKey("corrections", "operator");
    expect((await put(key, 901, user)).status).toBe(200);
    expect((await put(key, 901, { ...user, bio: "after" })).status).toBe(200);
    expect((await put(key, 901, { ...user, bio: "after" })).status).toBe(200);
    const [counted, changed, created] = await trail(`?key=${keyId}`);
    expect(created).toMatchObject({ summary: "Saved user", object_id: "901", object_name: "renamed_one" });
    expect(created?.changes).toContainEqual({ field: "display_name", from: null, to: "One" });
    expect(changed?.changes).toEqual([{ field: "bio", from: "before", to: "after" }]);
    expect(counted).toMatchObject({ action: "putUser", object_id: null, count: 1, changes: [] });
    expect((await trail("?user=renamed_one")).map(({ object_id }) => object_id)).toEqual(["901", "901"]);
    expect(await trail("?user=901")).toHaveLength(2);
  });

  test("has an entry whatever the names of the fields that it ignores", async () => {
    const { id: keyId, key } = await namedKey("odd names", "operator");
    expect((await put(key, 908, { username: "odd_names", "a\u0000b": 1, "\u{1f642}": 2 })).status).toBe(200);
    expect(await trail(`?key=${keyId}`)).toMatchObject([
      { object_id: "908", fields: ["username", "a\ufffdb", "\u{1f642}"] },
    ]);
  });

  test("is found with the changes of the user whose channel it is", async () => {
    const { key } = await namedKey("channels", "operator");
    expect((await put(key, 905, { ...user, username: "has_channel" })).status).toBe(200);
    const channel = { user_id: 905, name: "Mine", slug: "mine-905" };
    expect((await asKey(key, "PUT", "/admin/v1/channels/9051", channel)).status).toBe(200);
    expect((await asKey(key, "PUT", "/admin/v1/channels/9051", { ...channel, name: "Ours" })).status).toBe(
      200,
    );
    const [renamed, ...others] = await trail("?user=905");
    expect(renamed).toMatchObject({ object: "channels", object_id: "9051", object_name: "mine-905" });
    expect(renamed?.changes).toEqual([{ field: "name", from: "Mine", to: "Ours" }]);
    expect(others.map(({ object }) => object)).toEqual(["channels", "users"]);
    // An id of another kind, and a number that is none, are of no user.
    expect(await trail("?user=9051")).toEqual([]);
    expect(await trail("?user=9999999999999999")).toEqual([]);
  });

  test("is, for events, their type and channel, counted, and nothing of their data", async () => {
    const { id: keyId, key } = await namedKey("by hand", "operator");
    const send = async (one: object) =>
      expect((await asKey(key, "POST", "/admin/v1/events", one)).status).toBe(202);
    const followed = event("channel.followed");
    await send(followed);
    await send(event("kicks.gifted"));
    const follows = async () => (await trail(`?key=${keyId}&limit=100`)).at(-1);
    expect(await follows()).toMatchObject({
      summary: "Published events",
      object: "events",
      object_id: null,
      object_name: "channel.followed@1",
      count: 1,
      fields: [],
      changes: [{ field: "broadcaster_user_id", from: null, to: 1001 }],
    });
    await send(followed);
    await until(async () => (await follows())?.count === 2);
    // Each channel and type has its entry, up to a hundred in an hour.
    const many = Array.from({ length: 101 }, (_, i) => ({ id: 70_000 + i, username: `many_${i}` }));
    await server.load("users", many);
    for (const { id } of many) await send({ ...followed, broadcaster_user_id: id });
    await until(async () => (await trail(`?key=${keyId}&limit=100`))[0]?.object_name === null);
    // What a key publishes does not use up the entries of its other changes.
    expect((await put(key, 906, { ...user, username: "after_events" })).status).toBe(200);
    expect((await trail(`?key=${keyId}&user=906`)).map(({ object_id }) => object_id)).toEqual(["906"]);
  });

  test("is forgotten with a deleted user, but for the id", async () => {
    const { key } = await namedKey("deletions", "operator");
    expect((await put(key, 902, { ...user, username: "to_forget" })).status).toBe(200);
    expect((await asKey(key, "DELETE", "/admin/v1/users/902")).status).toBe(204);
    expect(await trail("?user=902")).toMatchObject([
      { action: "deleteUser", object_id: "902", object_name: null, changes: [] },
      { action: "putUser", object_id: "902", object_name: null, changes: [] },
    ]);
    expect(JSON.stringify(await trail("?limit=100"))).not.toContain("to_forget");
    // A user who does not exist is not deleted once more.
    const before = await trail("?user=902");
    expect((await asKey(key, "DELETE", "/admin/v1/users/902")).status).toBe(204);
    expect(await trail("?user=902")).toEqual(before);
  });

  test("has an entry a hundred times an hour for a key; publishers have none", async () => {
    clock.advance(60 * 60 * 1_000);
    const [{ id: operator, key }, { id: publisher, key: ofPublisher }] = [
      await namedKey("program", "operator"),
      await namedKey("platform's program", "publisher"),
    ];
    for (let i = 0; i < 103; i++)
      expect((await put(key, 903, { ...user, username: "often", bio: `${i}` })).status).toBe(200);
    const own = async () => (await trail(`?key=${operator}&user=903&limit=100`)).length;
    expect(await own()).toBe(100);
    const rest = async () => (await trail(`?key=${operator}`)).filter(({ object_id }) => object_id === null);
    await until(async () => (await rest())[0]?.count === 3);
    clock.advance(60 * 60 * 1_000);
    expect((await put(key, 903, { ...user, username: "often" })).status).toBe(200);
    expect((await trail(`?key=${operator}&limit=1`))[0]).toMatchObject({ object_id: "903" });
    expect((await put(ofPublisher, 903, { ...user, username: "often", bio: "x" })).status).toBe(200);
    await until(async () => (await trail(`?key=${publisher}`)).length === 1);
    expect(await trail(`?key=${publisher}`)).toMatchObject([{ object_id: null, changes: [] }]);
  });
});

test("every operation that is recorded has words", async () => {
  const { paths } = await json<{ paths: Record<string, Record<string, { operationId?: string }>> }>(
    await server.admin("GET", "/openapi.json"),
  );
  const changing = Object.values(paths).flatMap((methods) =>
    Object.entries(methods).flatMap(([method, { operationId = "" }]) =>
      ["post", "put", "patch", "delete"].includes(method) ? [operationId] : [],
    ),
  );
  expect(changing.length).toBeGreaterThan(30);
  // These change nothing.
  const reads = ["testFilter", "previewEvent"];
  const unnamed = changing.filter((action) => !(action in auditedActions) && !reads.includes(action));
  expect(unnamed).toEqual([]);
  const known = [...changing, ...notInDocument];
  expect(Object.keys(auditedActions).filter((action) => !known.includes(action))).toEqual([]);
});

test("entries are in the order of the first change of each, counted ones too", async () => {
  const { key } = await namedKey("in order", "publisher");
  expect((await asKey(key, "POST", "/admin/v1/events", event("channel.followed"))).status).toBe(202);
  clock.advance(1);
  const { id } = await server.application();
  clock.advance(1);
  expect((await asKey(key, "PUT", "/admin/v1/users/77", { username: "in_order" })).status).toBe(200);
  clock.advance(1);
  expect((await asKey(key, "POST", "/admin/v1/events", event("channel.followed"))).status).toBe(202);
  const [third, second, first] = await trail("?limit=3");
  expect(third).toMatchObject({ object: "users", actor: { name: "in order" } });
  expect(second).toMatchObject({ object_id: id });
  expect(first).toMatchObject({ object: "events", actor: { name: "in order" } });
});

describe("changes of an application by itself", () => {
  test("is written down, too, under its own name", async () => {
    const app = await server.application({ name: "Bot" });
    const path = "/public/v1/application";
    const webhook_url = "https://bot.example/?key=s3cret";
    expect((await server.send("PATCH", path, { webhook_url }, app.token)).status).toBe(200);
    const rotated = await server.send("POST", `${path}/webhook-secret`, undefined, app.token);
    const { data } = await json<{ data: { webhook_secret: string } }>(rotated);
    expect((await server.send("POST", `${path}/endpoint/enable`, undefined, app.token)).status).toBe(200);
    const entries = await trail(`?key=${app.id}`);
    expect(entries.map(({ action, fields, actor }) => [action, fields, actor.kind, actor.name])).toEqual([
      ["enableOwnEndpoint", [], "application", "Bot"],
      ["rotateOwnWebhookSecret", [], "application", "Bot"],
      ["changeOwnApplication", ["webhook_url"], "application", "Bot"],
    ]);
    expect(JSON.stringify(entries)).not.toContain("s3cret");
    expect(JSON.stringify(entries)).not.toContain(data.webhook_secret);
  });
});

describe("the list", () => {
  test("is filtered by key, action, object and time, and pages with the one form of cursor", async () => {
    const { id } = await server.application();
    const from = clock.now() + 1_000;
    clock.advance(1_000);
    for (let i = 0; i < 3; i++) {
      expect((await server.admin("PATCH", `/admin/v1/applications/${id}`, { rate_limit: i })).status).toBe(
        200,
      );
      clock.advance(1_000);
    }
    const iso = (ms: number) => new Date(ms).toISOString();
    const of = `?object=applications&object_id=${id}`;
    expect(await trail(`${of}&action=changeApplication`)).toHaveLength(3);
    expect(await trail(`${of}&action=changeApplication&after=${iso(from + 1_000)}`)).toHaveLength(2);
    expect(await trail(`${of}&before=${iso(from + 1_000)}&after=${iso(from)}`)).toHaveLength(1);
    expect(await trail(`${of}&key=nobody`)).toEqual([]);
    const nothing = await server.admin("GET", `/admin/v1/audit${of}&after=${iso(from)}&before=${iso(from)}`);
    const errors = [{ in: "query", field: "before", message: "must be later than after" }];
    expect([nothing.status, await json<object>(nothing)]).toMatchObject([400, { errors }]);
    const seen: Audit[] = [];
    for (let cursor = ""; ; ) {
      const answer = await server.admin("GET", `/admin/v1/audit${of}&limit=2&cursor=${cursor}`);
      const page = await json<{ data: Audit[]; pagination: { cursor: string; has_more: boolean } }>(answer);
      seen.push(...page.data);
      ({ cursor } = page.pagination);
      if (!page.pagination.has_more) break;
      const elsewhere = await server.admin("GET", `/admin/v1/audit?cursor=${cursor}`);
      expect(elsewhere.status).toBe(400);
    }
    expect(seen).toEqual(await trail(of));
    expect(seen).toHaveLength(4);
  });
});
