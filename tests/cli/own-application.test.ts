import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { expectFailure, printedJson, RunningCommand, run } from "../support/process.ts";
import { profileOf } from "../support/profiles.ts";
import { event, publish, settled } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, testDirectory, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** Commands of an application's developer, with only a profile, against a running server. */

const server = await testServer();
await server.load("users", users);
const receiver = testReceiver(() => new Response("said", { status }));
let status = 204;
const mine = await server.application({ name: "Mine", webhook_url: receiver.url });
const env = profileOf(server, mine, testDirectory());
const broadcaster = users.find(({ id }) => id === 1001)?.username ?? "";

const onair = (words: string) => run(words.split(" "), { env });
const answered = <T>(words: string) => printedJson<T>(words.split(" "), { env });
interface Subscriptions {
  readonly data: readonly { id: string; event: string; broadcaster_user_id: number }[];
}

describe("onair subscriptions", () => {
  test("are created by the name of the channel, listed, shown, and deleted", async () => {
    const made = await onair(
      `subscriptions create channel.followed kicks.gifted --broadcaster ${broadcaster}`,
    );
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toMatch(/^[0-9A-Z]{26} {2}channel\.followed\n[0-9A-Z]{26} {2}kicks\.gifted\n$/);
    const { data } = await answered<Subscriptions>("subscriptions list");
    expect(data.map(({ event, broadcaster_user_id: id }) => [event, id])).toEqual([
      ["channel.followed", 1001],
      ["kicks.gifted", 1001],
    ]);
    expect((await onair("subscriptions list")).stdout).toMatch(
      /^ID .*\n\S+ +xqcow \(1001\) +channel\.followed +1 /,
    );
    const id = data[0]?.id ?? "";
    expect((await onair(`subscriptions show ${id}`)).stdout).toMatch(/^status +enabled$/m);
    const again = await answered<{ data: { subscription_id: string }[] }>(
      "subscriptions create channel.followed --broadcaster 1001",
    );
    expect(again.data[0]?.subscription_id).toBe(id);
    const gone = await onair(`subscriptions delete ${data.map(({ id }) => id).join(" ")}`);
    expect([gone.code, gone.stdout]).toEqual([0, "2 subscriptions deleted\n"]);
    expect((await onair("subscriptions list")).stderr).toBe("There are no subscriptions.\n");
  });

  test("refusals are reported for each event", async () => {
    const { code, stderr } = await onair("subscriptions create channel.followed --broadcaster 424242");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^channel\.followed: .*broadcaster/)]);
    expectFailure(
      await onair("subscriptions create channel.followed --version 7 --broadcaster 1001"),
      1,
      "channel.followed: ",
    );
  });

  test("the error names the missing option, not the field of the API", async () => {
    const { code, stderr } = await onair("subscriptions create channel.followed");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/--broadcaster is required\n$/)]);
  });

  test("deletes known subscriptions and reports unknown ones", async () => {
    const made = await answered<{ data: { subscription_id: string }[] }>(
      "subscriptions create channel.followed --broadcaster 1001",
    );
    const id = made.data[0]?.subscription_id ?? "";
    const { code, stdout, stderr } = await onair(`subscriptions delete mistyped ${id} mistyped ${id}`);
    expect([code, stdout]).toEqual([1, "1 subscription deleted\n"]);
    expect(stderr).toBe("There is no subscription mistyped\n");
    expect((await onair("subscriptions list")).stderr).toBe("There are no subscriptions.\n");
  });

  test("accepts event types that the platform registered", async () => {
    const type = { version: 3, schema: { type: "object" }, example: {} };
    await server.admin("PUT", "/admin/v1/event-types/raffle.won", type);
    const made = await answered<{ data: { version: number; subscription_id: string }[] }>(
      "subscriptions create raffle.won --broadcaster 1001",
    );
    expect(made.data).toMatchObject([{ version: 3 }]);
    await onair(`subscriptions delete ${made.data[0]?.subscription_id}`);
  });
});

describe("onair deliveries with a profile", () => {
  test("list, show, retry and replay its own deliveries with the same syntax as operators", async () => {
    await onair("subscriptions create kicks.gifted --broadcaster 1001");
    status = 500;
    await publish(server, event("kicks.gifted"));
    await receiver.arrived(1);
    await settled(server);
    const listed = await onair("deliveries list --since 1h --status pending");
    expect(listed.stdout).toMatch(
      /^ID +STATUS +LAST +TYPE +CHANNEL +ATTEMPTS +PUBLISHED\n\S+ +\S+ +500 +kicks\.gifted +\S+ +1 +\S+Z\n$/,
    );
    const at = (await answered<{ data: { next_attempt_at: string }[] }>("deliveries list")).data[0]
      ?.next_attempt_at;
    const endpoint = (await onair("app show")).stdout;
    expect(endpoint).toContain(`${at}; to try it now: onair app enable-endpoint\n`);
    const id = /^[0-9A-Z]{26}/m.exec(listed.stdout)?.[0] ?? "";
    expect((await onair(`deliveries show ${id}`)).stdout).toContain("The answer was 500.");
    status = 204;
    const again = await onair(`deliveries retry ${id} --wait`);
    expect([again.code, again.stderr]).toEqual([0, "The delivery succeeded.\n"]);
    const counted = await answered<object>("deliveries replay --since 1h --status any --dry-run");
    expect(counted).toMatchObject({ state: "completed", queued: 1 });
    const replayed = await onair("deliveries replay --since 1h --status any --wait");
    expect(replayed.stdout).toMatch(/^state +completed$/m);
    expect(replayed.stderr).toContain("onair deliveries list --status pending");
    await receiver.arrived(3);
    const replay = /^id +(\S+)$/m.exec(replayed.stdout)?.[1] ?? "";
    expect(await answered<object>(`deliveries replay ${replay}`)).toMatchObject({ id: replay });
    const old = await onair("deliveries list --before 2026-01-01T00:00:00Z");
    expect(old.stderr).toBe("There are no such deliveries.\n");
  });

  test("another application's deliveries are unknown", async () => {
    const other = await server.application({ webhook_url: receiver.url });
    const theirs = profileOf(server, other, testDirectory());
    const { data } = await answered<{ data: { id: string }[] }>("deliveries list");
    const args = ["deliveries", "show", data[0]?.id ?? ""];
    expectFailure(await run(args, { env: theirs }), 1, "There is no delivery with this id");
  });

  test("--follow prints new and changed deliveries until Ctrl-C", async () => {
    const args = ["deliveries", "list", "--follow", "--json", "--limit", "1"];
    const following = new RunningCommand(args, { env });
    const shown = () => following.lines.map((line) => JSON.parse(line) as { id: string; status: string });
    await following.line();
    expect(shown()).toHaveLength(1);
    await publish(server, event("kicks.gifted", { id: "followed" }));
    await until(() => shown().some(({ status }, i) => i > 0 && status === "delivered"));
    const [first, ...news] = shown();
    expect(news.every(({ id }) => id !== first?.id)).toBe(true);
    expect(news.length).toBeLessThanOrEqual(2);
    expect(await following.end()).toBe(0);
  });
});

describe("onair test", () => {
  test("shows the exchange and the receiver's mistake", async () => {
    status = 200;
    const good = await onair("test kicks.gifted");
    expect([good.code, good.stderr]).toEqual([0, "The receiver answered correctly.\n"]);
    const request = [`POST ${receiver.url}`, "onair-test", '"type":"kicks.gifted"'];
    const stages = ["Connected ", "Request sent ", "Response received ", "Response 200 after", "said"];
    for (const part of [...request, ...stages]) expect(good.stdout).toContain(part);
    // Each stage is on its own line, without cursor movements.
    expect(good.stdout).toMatch(
      /\nRequest sent +after [\d.]+ ms\nResponse received +after [\d.]+ ms\n\nResponse/,
    );
    for (const drawn of ["\r", "\x1b", "Waiting"]) expect(good.stdout).not.toContain(drawn);
    status = 404;
    const bad = await onair("test");
    const advice = expect.stringContaining("is the path of the webhook URL right?");
    expect([bad.code, bad.stderr]).toEqual([1, advice]);
    const shown = JSON.parse((await onair("test --json")).stdout);
    expect(shown).toMatchObject({ delivered: false, response: { status: 404 } });
    status = 204;
  });
});

describe("onair app", () => {
  test("show prints settings, limits, the endpoint and prefixes of secrets", async () => {
    const { code, stdout } = await onair("app show");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^name +Mine$/m);
    expect(stdout).toMatch(/^endpoint +enabled: /m);
    expect(stdout).toMatch(/^subscriptions +1 of 10,000$/m);
    expect(stdout).toMatch(/^webhook_secret +whsec_\S{4}…/m);
    for (const secret of [mine.client_secret, mine.webhook_secret]) expect(stdout).not.toContain(secret);
  });

  test("change updates the application and refuses locked fields", async () => {
    const changed = await answered<object>("app change --delivery both --redirect-uri https://a.example/");
    expect(changed).toMatchObject({ delivery: "both", redirect_uris: ["https://a.example/"] });
    const file = join(testDirectory(), "headers.txt");
    writeFileSync(file, "X-Api-Key: s3cret-key\n\nAuthorization: Basic a:b\r\n");
    const masked = "••••••••";
    expect(await answered<object>(`app change --webhook-header @${file}`)).toMatchObject({
      webhook_headers: { "X-Api-Key": masked, Authorization: masked },
    });
    expect(
      await answered<object>("app change --webhook-header x-api-key: --webhook-header A:b"),
    ).toMatchObject({
      webhook_headers: { Authorization: masked, A: masked },
    });
    expect((await onair("app show")).stdout).toMatch(/^webhook_headers +Authorization: •+, A: •+$/m);
    const sent = (await server.app.store.applications.find(mine.id))?.webhook_headers;
    expect(sent).toEqual([
      { name: "Authorization", value: "Basic a:b" },
      { name: "A", value: "b" },
    ]);
    expectFailure(await onair("app change --webhook-url="), 1, "--webhook-header must be given with");
    expectFailure(await onair("app change --webhook-header Host:x"), 1, "--webhook-header Host is reserved");
    expectFailure(
      await onair("app change --webhook-header s3cret"),
      2,
      "--webhook-header must be NAME: VALUE",
    );
    expectFailure(await onair("app change --webhook-header @/missing"), 2, "/missing, which does not exist");
    expect(await answered<object>("app change --webhook-header=")).toMatchObject({ webhook_headers: {} });
    expect(await answered<object>("app change --webhook-url=")).toMatchObject({ webhook_url: null });
    expect(await answered<object>(`app change --webhook-url ${receiver.url}`)).toMatchObject({
      webhook_url: receiver.url,
    });
    await server.admin("PATCH", `/admin/v1/applications/${mine.id}`, { locked: ["webhook_url"] });
    const { code, stderr } = await onair("app change --webhook-url https://b.example/");
    expect([code, stderr]).toEqual([1, expect.stringContaining("answered 403")]);
    expect(stderr).toContain("--webhook-url");
    await server.admin("PATCH", `/admin/v1/applications/${mine.id}`, { locked: [] });
  });

  test("change --filter sets and removes filters, from the command line or a file", async () => {
    const change = (...filters: string[]) =>
      run(["app", "change", ...filters.flatMap((one) => ["--filter", one])], { env });
    const filters = async () => (await answered<{ filters: object }>("app show")).filters;
    const chat = { content: { $startsWith: "!" } };
    const file = join(testDirectory(), "followed.json");
    writeFileSync(file, '{"follower": {"is_verified": true}}');
    const made = await change(`chat.message.sent=${JSON.stringify(chat)}`, `channel.followed@1=@${file}`);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toMatch(
      /^filters +chat\.message\.sent=\{"content":\{"\$startsWith":"!"\}\} since \S+, channel\.followed@1=\{/m,
    );
    expect(await filters()).toEqual({
      "chat.message.sent": chat,
      "channel.followed@1": { follower: { is_verified: true } },
    });
    expect((await change("channel.followed@1=")).code).toBe(0);
    expect(await filters()).toEqual({ "chat.message.sent": chat });
    expectFailure(
      await change('chat.message.sent={"content": {"$startWith": "!"}}'),
      1,
      '--filter ["chat.message.sent"].content.$startWith is not an operator',
    );
    expectFailure(await change("chat.message.sent"), 2, "--filter must be TYPE=CONDITION");
    expectFailure(await change("chat.message.sent={"), 2, "--filter chat.message.sent must be JSON");
    expectFailure(await change("chat.message.sent=3"), 2, "--filter chat.message.sent must be an object");
    expectFailure(await change("chat.message.sent=@/missing"), 2, "/missing, which does not exist");
    const { stdout } = await onair("subscriptions create chat.message.sent --broadcaster 1001");
    await publish(server, event("chat.message.sent", { id: "unwanted" }));
    expect((await onair("deliveries list --event unwanted")).stderr).toMatch(
      /^Not sent: it does not match the filter that you set on chat.message.sent at /,
    );
    await onair(`subscriptions delete ${stdout.split(" ")[0]}`);
    const operator = { ONAIR_URL: server.adminUrl, ONAIR_ADMIN_KEY: adminKey };
    const set = ["apps", "change", mine.id, "--filter", 'chat.message.sent={"content": "!hi"}'];
    expect((await run(set, { env: operator })).stdout).toMatch(/^filters +chat.message.sent=.*!hi/m);
    expect(await filters()).toEqual({ "chat.message.sent": { content: "!hi" } });
    expect((await change("")).code).toBe(0);
    expect(await filters()).toEqual({});
  });

  test("rotate-webhook-secret prints the new secret, and both sign during the overlap", async () => {
    const { code, stdout, stderr } = await onair("app rotate-webhook-secret --overlap 10m");
    expect([code, stderr]).toEqual([0, "The secret is shown only once: store it now.\n"]);
    const secret = /whsec_\S+/.exec(stdout)?.[0] ?? "";
    const sent = await receiver.next(() => onair("test"));
    for (const one of [secret, mine.webhook_secret])
      expect(new Webhook(one).verify(sent.body, sent.headers)).toEqual(JSON.parse(sent.body));
  });

  test("enable-endpoint after a 410", async () => {
    status = 410;
    await receiver.next(() => publish(server, event("kicks.gifted")));
    await settled(server);
    const shown = (await onair("app show")).stdout;
    expect(shown).toMatch(/^endpoint +disabled: /m);
    expect(shown).toMatch(/^NOTICED +WHAT +SUMMARY\n\S+ +endpoint\.disabled +Disabled since /m);
    status = 204;
    const { code, stdout } = await onair("app enable-endpoint");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^endpoint +enabled: /m)]);
  });
});

describe("which API deliveries uses", () => {
  const operator = { ONAIR_ADMIN_KEY: "test-operator-key", ONAIR_URL: server.adminUrl };
  const token = { ONAIR_TOKEN: mine.token, ONAIR_URL: server.publicUrl };
  const flags = ["--token", mine.token, "--url", server.publicUrl];
  test.each<[string, string[], Record<string, string>, "all" | "own"]>([
    ["a profile", [], env, "own"],
    ["a token", [], token, "own"],
    ["an operator key", [], operator, "all"],
    ["an operator key beside a profile", [], { ...env, ...operator }, "all"],
    [
      "an operator key beside a token",
      [],
      { ...token, ...operator, ONAIR_ADMIN_URL: server.adminUrl },
      "all",
    ],
    ["--profile beside an operator key", ["--profile", "default"], { ...env, ...operator }, "own"],
    ["--token beside an operator key", flags, operator, "own"],
  ])("%s", async (_, args, variables, api) => {
    const { code, stdout } = await run(["deliveries", "list", "--json", "--limit", "1", ...args], {
      env: variables,
    });
    expect(code).toBe(0);
    const [delivery] = JSON.parse(stdout).data;
    expect("app_id" in delivery).toBe(api === "all");
  });

  test("with a data directory or without any option the operator's API is used, and the error names the other way", async () => {
    const directory = testDirectory();
    const alone = (...args: string[]) => run(["deliveries", "list", ...args], { env: {}, cwd: directory });
    for (const args of [["--data", directory], []]) {
      const { code, stderr } = await alone(...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining("There is no data in")]);
      expect(stderr.includes('"onair login --url URL"')).toBe(args.length === 0);
    }
    expect((await alone("--url", server.adminUrl)).stderr).toContain('"onair login --url URL"');
    const named = await run(["deliveries", "list"], { env: { ...env, ONAIR_DATA: directory } });
    expect(named.stderr).toContain("There is no data in");
    const withKey = await run(["deliveries", "list"], {
      env: { ...env, ONAIR_ADMIN_KEY: "test-operator-key" },
      cwd: directory,
    });
    expect(withKey.stderr).toContain("own application, no operator key is needed: --profile default");
    const chosen = await run(["deliveries", "list"], {
      env: { ...env, ONAIR_ADMIN_KEY: "test-operator-key", ONAIR_PROFILE: "guide" },
      cwd: directory,
    });
    expect(chosen.stderr).toContain("own application, no operator key is needed: --profile guide");
  });
});

describe("wrong usage is reported and changes nothing", () => {
  test.each<[string, string]>([
    ["deliveries list --application x", "--application is for operators"],
    ["deliveries list --since soon", "--since must be a duration like 90s, 30m, 1h or 2d"],
    ["deliveries list --since 1h --after x", "--since excludes"],
    ["deliveries list --follow --all", "--follow excludes"],
    ["deliveries replay", "--from or --since is needed"],
    ["deliveries show x --follow", "--follow is not for show"],
    ["deliveries list --folow", "Did you mean --follow?"],
    ["subscriptions lsit", "Did you mean list?"],
    ["subscriptions create", "The event type is missing"],
    ["subscriptions create channel.folowed", "Did you mean channel.followed?"],
    ["subscriptions delete", "The id of the subscription is missing"],
    ["subscriptions list --broadcaster 1", "--broadcaster is not for list"],
    ["app shwo", "Did you mean show?"],
    ["app change", "Nothing to change: give at least one option"],
    ["app show --data x", "--data is not a known option"],
    ["app enable-endpoint x", '"x" is not expected here'],
    ["test a b", '"b" is not expected here'],
    ["test --version 2", "--version needs an event type"],
    ["test chanel.followed", "Did you mean channel.followed?"],
    [
      "app rotate-webhook-secret --overlap 1w",
      '--overlap must be a duration like 90s, 30m, 1h or 2d, not "1w"',
    ],
    ["tset", "Did you mean test?"],
  ])("onair %s", async (words, message) => {
    expectFailure(await onair(words), 2, message);
  });

  test.each<[string, string]>([
    ["deliveries list --cursor x", "--cursor is not a cursor of this server"],
    ["subscriptions create channel.followed --broadcaster nobody_at_all", "There is no user"],
    ["subscriptions show x", "There is no"],
    ["app rotate-webhook-secret --overlap 99999999", "--overlap must be"],
    ["test kicks.gifted --version 9", "--version is unknown"],
  ])("onair %s is refused by the server", async (words, message) => {
    const { code, stdout, stderr } = await onair(words);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toContain(server.publicUrl);
  });
});
