import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { ownListener } from "../support/listener.ts";
import { expectFailure, printedJson, program, run, untimed } from "../support/process.ts";
import { event, publish, event as sample, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, testReceiver } from "../support/receiver.ts";
import {
  adminKey,
  ndjson,
  ownServer,
  startServer,
  type TestServer,
  testDirectory,
  testServer,
} from "../support/server.ts";

const directory = testDirectory();

const followedBy = sample("channel.followed", { broadcaster_user_id: 1 });
const fileOf = async (name: string, lines: readonly unknown[]) => {
  const path = join(directory, name);
  await Bun.write(path, ndjson(lines));
  return path;
};

describe.each(["at a running server", "in a data directory"])("%s", (way) => {
  const path = join(directory, way.replaceAll(" ", "-"));
  let server: TestServer | null = null;
  const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" };
  const to = () => (server ? ["--url", server.adminUrl] : ["--data", path]);
  const onair = (...args: string[]) => run([...args, ...to()], { env });
  const answered = <T>(...args: string[]) => printedJson<T>([...args, ...to()], { env });
  interface App {
    readonly id: string;
    readonly client_secret: string;
    readonly webhook_secret: string;
  }

  beforeAll(async () => {
    server = await startServer({ data: path });
    await server.load("users", [{ id: 1, username: "one" }]);
    if (way === "in a data directory") {
      await server.stop();
      server = null;
    }
  });
  afterAll(() => server?.stop());

  test("locked fields and the owner of an application are set and cleared", async () => {
    const flags = ["--lock", "webhook_url", "--lock", "delivery", "--owner", "1"];
    const { id } = await answered<App>("apps", "create", "--name", "Owned", ...flags);
    const shown = () => answered<object>("apps", "show", id);
    expect(await shown()).toMatchObject({ locked: ["webhook_url", "delivery"], owner_user_id: 1 });
    await answered("apps", "change", id, "--lock", "", "--owner", "");
    expect(await shown()).toMatchObject({ locked: [], owner_user_id: null });
    expectFailure(await onair("apps", "change", id, "--lock", "name"), 2, "--lock must be one of");
    expectFailure(await onair("apps", "change", id, "--owner", "999"), 1, "--owner");
    await answered("apps", "delete", id);
  });

  test("applications are created, listed, changed, rotated and deleted", async () => {
    const flags = ["--webhook-url", "http://127.0.0.1:9/x", "--scope", "users:read", "--rate-limit", "5"];
    const { client_secret, webhook_secret, ...made } = await answered<App>(
      "apps",
      "create",
      "--name",
      "Bot",
      ...flags,
    );
    expect([client_secret, webhook_secret]).toEqual([
      expect.stringMatching(/^onair_cs_/),
      expect.stringMatching(/^whsec_/),
    ]);
    expect(made).toMatchObject({ name: "Bot", scopes: ["users:read"], rate_limit: 5, disabled: false });
    const { id } = made;
    const changes = ["--rate-limit", "default", "--webhook-concurrency", "300", "--disable"];
    const changed = await answered<object>("apps", "change", id, ...changes);
    expect(changed).toMatchObject({
      id,
      rate_limit: null,
      webhook_concurrency: 300,
      disabled: true,
      name: "Bot",
    });
    expect(await answered<object>("apps", "show", id)).toMatchObject(changed);
    expect((await answered<{ data: object[] }>("apps", "list")).data).toContainEqual({
      ...changed,
      state: "disabled_by_operator",
      endpoint: { status: "enabled", disabled_reason: null },
    });
    const listed = await onair("apps", "list");
    expect(listed.stdout).toMatch(
      new RegExp(`^ID .*\\n(.*\\n)*${id}  disabled +enabled +Bot +http://127.0.0.1:9/x\\n`),
    );
    for (const secret of [client_secret, webhook_secret]) expect(listed.stdout).not.toContain(secret);
    const rotated = await answered<App>("apps", "rotate-webhook-secret", id, "--overlap", "60");
    expect(rotated.webhook_secret).not.toBe(webhook_secret);
    expect((await answered<App>("apps", "rotate-client-secret", id)).client_secret).toMatch(/^onair_cs_/);
    expect(await answered<object>("apps", "delete", id)).toEqual({ id, deleted: true });
    expectFailure(await onair("apps", "show", id), 1, "There is no application with this id");
  });

  test("tokens are created, listed and revoked", async () => {
    const { id } = await answered<App>("apps", "create", "--name", "Tokens");
    const made = await answered<{ access_token: string }>(
      "tokens",
      "create",
      id,
      "--scope",
      "users:read",
      "--expires-in",
      "3600",
    );
    expect(made).toMatchObject({ scopes: ["users:read"], user_id: null });
    const listed = await onair("tokens", "list", id);
    expect(listed.stdout).toContain("users:read");
    expect(listed.stdout).not.toContain(made.access_token);
    expect(await answered<object>("tokens", "revoke", id)).toEqual({ revoked: 1, message: "OK" });
    expect(await answered<object>("tokens", "list", id)).toMatchObject({ data: [] });
    const refused = await onair("tokens", "create", id, "--scope", "none");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("--scope may hold what the application may have"),
    ]);
  });

  test("events are published once and delivered by the server, and invalid lines are reported by number", async () => {
    const receiver = ownReceiver();
    const { id } = await answered<App>("apps", "create", "--name", "Events", "--webhook-url", receiver.url);
    const running = server ?? (await startServer({ data: path }));
    const wanted = [{ broadcaster_user_id: 1, event: "channel.followed", version: 1 }];
    await running.app.store.subscriptions.subscribe({ applicationId: id, wanted, limit: 10 }, Date.now());
    if (!server) await running.stop();
    const file = await fileOf("events.ndjson", [followedBy, "{", followedBy]);
    const counts = "2 accepted, 1 rejected";
    for (const told of [
      counts,
      `This file was already published with this idempotency key (${counts}). Nothing was sent now.`,
    ]) {
      const result = await onair("events", "publish", file, "--idempotency-key", `once-${way.length}`);
      expect(untimed(result)).toEqual({
        code: 1,
        stdout: `${told}\n`,
        stderr: "line 2: The line is not valid JSON\n",
      });
    }
    const late = server ?? (await startServer({ data: path }));
    await receiver.arrived(2);
    const { deliveries } = await late.app.publisher.publish({ ...followedBy, id: `last-${way.length}` });
    expect(deliveries).toBe(1);
    expect(await receiver.arrived(3)).toHaveLength(3);
    if (!server) await late.stop();
  });
});

test("a directory in use is not changed, and the error says so", async () => {
  const path = join(directory, "busy");
  await ownServer({ data: path });
  const file = await fileOf("one.ndjson", [followedBy]);
  const commands = [
    ["apps", "list"],
    ["tokens", "list", "x"],
    ["events", "publish", file],
  ];
  for (const command of commands) {
    const result = await run([...command, "--data", path]);
    expect([command, result.code, result.stdout]).toEqual([command, 1, ""]);
    expect(result.stderr).toContain(`in use by process ${process.pid}`);
  }
});

describe("wrong usage", () => {
  test.each<[string[], string]>([
    [["apps"], "The action must be one of list, show, create, change, delete"],
    [["apps", "constructor"], "The action must be one of"],
    [["apps", "show"], "The id or name of the application is missing"],
    [["apps", "create"], "--name is missing"],
    [["apps", "change", "x"], "Nothing to change: give at least one option"],
    [["apps", "change", "x", "--enable", "--disable"], "exclude each other"],
    [["apps", "change", "x", "--rate-limit", "many"], "--rate-limit must be a number"],
    [["apps", "list", "x"], '"x" is not expected here'],
    [["apps", "show", "x", "--name", "y"], "--name is not for show"],
    [["apps", "list", "--url", "http://127.0.0.1:9"], "ONAIR_ADMIN_KEY"],
    [["apps", "list", "--data", "nowhere"], "There is no data in nowhere"],
    [["tokens", "make", "x"], "The action must be one of create, list, revoke"],
    [["tokens", "list", "x", "--scope", "y"], "--scope is not for list"],
    [["tokens", "create", "x", "--expires-in", "1w"], "--expires-in must be a duration"],
    [["events"], "The action must be one of publish, types"],
    [["events", "publish"], "The file is missing"],
    [["events", "publish", "/nowhere.ndjson"], "There is no file /nowhere.ndjson"],
    [["events", "types", "no.such"], "There is no event type no.such"],
  ])("%j", async (args, message) => {
    expectFailure(await run(args, { cwd: directory }), 2, message);
  });
});

test("events types lists what can be published, with an example of one", async () => {
  const all = await run(["events", "types"]);
  for (const { name } of builtInEventTypes) expect(all.stdout).toContain(`${name} `);
  const type = {
    name: "channel.followed",
    version: 1,
    description: expect.any(String),
    schema: expect.any(Object),
    example: followedBy.data,
  };
  expect(await printedJson<object>(["events", "types", "channel.followed"])).toEqual({ data: [type] });
});

test("the operator key for a server on this machine is not sent to the environment's proxy", async () => {
  const server = await ownServer();
  let asked = 0;
  const { url: http_proxy } = ownListener(() => new Response(String(asked++)));
  const env = { ONAIR_ADMIN_KEY: adminKey, http_proxy, HTTP_PROXY: http_proxy };
  const { code } = await run(["apps", "list", "--url", server.adminUrl], { command: program, env });
  expect([code, asked]).toEqual([0, 0]);
});

/** Answers 410 until a test changes it. */
const receiver = testReceiver(() => new Response(null, { status }));
let status = 410;

const server = await testServer({ users });
const app = await server.application({ name: "Gone", webhook_url: receiver.url });
await server.application({ name: "Silent" });
await server.application({ name: "Reader", webhook_url: receiver.url, delivery: "stream" });
await subscribe(server, app, ["kicks.gifted"]);
await publish(server, event("kicks.gifted"));
await receiver.arrived(1);
await settled(server);

const env = { ONAIR_ADMIN_KEY: adminKey };
const to = ["--url", server.adminUrl];
const apps = (...args: string[]) => run(["apps", ...args, ...to], { env });
const answered = <T>(...args: string[]) => printedJson<T>(["apps", ...args, ...to], { env });
const shown = async () => (await answered<{ endpoint: object }>("show", app.id)).endpoint;

test("list and show print the state of the endpoint beside that of the application", async () => {
  const { stdout } = await apps("list");
  expect(stdout).toMatch(new RegExp(`^${app.id}  enabled +disabled \\(gone\\) +Gone +http`, "m"));
  expect(stdout).toMatch(/ enabled +no URL +Silent +-$/m);
  expect(stdout).toMatch(/ enabled +stream only +Reader +http/m);
  const { data } = await answered<{ data: { endpoint: object }[] }>("list");
  expect(data[0]?.endpoint).toEqual({ status: "disabled", disabled_reason: "gone" });
  expect(await shown()).toMatchObject({ status: "disabled", disabled_reason: "gone", failures: 1 });
  expect((await apps("show", app.id)).stdout).toMatch(/^endpoint +disabled since .*Z: it answered 410$/m);
});

test("list makes one request for each page", async () => {
  const requests: string[] = [];
  const admin = ownListener((request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(pathname + search);
    return fetch(server.adminUrl + pathname + search, { headers: request.headers });
  });
  const { stdout } = await run(["apps", "list", "--all", "--url", admin.url], { env });
  expect(stdout).toContain("disabled (gone)");
  expect(requests).toEqual(["/admin/v1/applications?limit=100"]);
});

test("change --enable says that the endpoint stays disabled, and what enables it", async () => {
  expect((await apps("change", app.id, "--disable")).stderr).toBe("");
  const { code, stdout, stderr } = await apps("change", app.id, "--enable");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^disabled +false$/m)]);
  expect(stderr).toContain("its endpoint is still disabled, because it answered 410");
  expect(stderr).toContain(
    `To send to it again: onair apps enable-endpoint ${app.id} --url ${server.adminUrl}`,
  );
  expect(await shown()).toMatchObject({ status: "disabled" });
});

test("enable-endpoint enables it, and change --enable then prints no hint", async () => {
  status = 204;
  const { code, stdout } = await apps("enable-endpoint", app.id);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^status +enabled$/m)]);
  expect(await shown()).toMatchObject({ status: "enabled", disabled_reason: null });
  expect((await apps("list")).stdout).toMatch(new RegExp(`^${app.id}  enabled +enabled +Gone`, "m"));
  expect((await apps("change", app.id, "--enable")).stderr).toBe("");
  expectFailure(await apps("enable-endpoint", "01KATHZX5M9S3E6R8B2D4F7G1H"), 1, "There is no application");
});
