import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import { closedPort } from "../support/ports.ts";
import { expectFailure, RunningCommand, run } from "../support/process.ts";
import { profileOf } from "../support/profiles.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { ownDirectory, ownServer, testServer } from "../support/server.ts";

const server = await testServer({ users });
const app = await server.application({ delivery: "stream" });
await subscribe(server, app, ["channel.followed", "chat.message.sent"]);

const listen = (args: readonly string[], token = app.token, url = server.publicUrl) =>
  new RunningCommand(["listen", "--url", url, ...args], { env: { ONAIR_TOKEN: token } });

test("prints each verified event, and ends with Ctrl-C", async () => {
  const listener = listen([]);
  await listener.shows("Listening to");
  await publish(server, event("channel.followed"));
  const output = await listener.shows("verified");
  expect(output).toMatch(/verified channel\.followed #\d+ [0-9A-Z]{26} \S+: \S+ follows/);
  expect(await listener.end()).toBe(0);
  expect(output).not.toContain(app.webhook_secret);
  expect(output).not.toContain(app.token);
});

test("forwards events to a local program like webhooks, signed with a secret of this run", async () => {
  const receiver = ownReceiver(() => new Response("got it", { status: 200 }));
  const listener = listen(["--forward", receiver.url]);
  await listener.shows("Listening to");
  const secret = /signed with (whsec_\S+) /.exec(listener.output)?.[1] ?? "";
  const { body } = await publish(server, event("channel.followed"));
  const [sent] = await receiver.arrived(1);
  if (!sent) throw new Error("nothing arrived");
  expect(new Webhook(secret).verify(sent.body, sent.headers)).toEqual(JSON.parse(sent.body));
  expect(() => new Webhook(app.webhook_secret).verify(sent.body, sent.headers)).toThrow();
  expect(sent.headers["webhook-signature"]).toMatch(/^v1,\S+ v1a,\S+$/);
  expect(sent.headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": expect.stringMatching(/^onair\//),
    "onair-event-type": "channel.followed",
    "onair-event-id": body["id"],
    "onair-attempt": "1",
  });
  expect(sent.headers["authorization"]).toBeUndefined();
  await listener.shows(/→ 200 in \d+ ms: got it/);
  await listener.end();
});

test("--secret signs forwarded events with the local program's secret", async () => {
  const secret = `whsec_${btoa("a".repeat(32))}`;
  const receiver = ownReceiver();
  const listener = listen(["--forward", receiver.url, "--secret", secret]);
  await listener.shows("Listening to");
  await publish(server, event("channel.followed"));
  const [sent] = await receiver.arrived(1);
  expect(new Webhook(secret).verify(sent?.body ?? "", sent?.headers ?? {})).toEqual(
    JSON.parse(sent?.body ?? ""),
  );
  expect(listener.output).not.toContain(secret);
  await listener.end();
});

test("a secret that the profile keeps signs forwarded events of every run", async () => {
  const home = ownDirectory();
  const env = profileOf(server, app, home);
  const secrets: (string | undefined)[] = [];
  for (const _ of [1, 2]) {
    const receiver = ownReceiver();
    const listener = new RunningCommand(["listen", "--forward", receiver.url], { env });
    await listener.shows(/signed with \S+ \(kept for the profile\)/);
    await listener.shows("Listening to");
    const [, secret = ""] = /signed with (whsec_\S+) /.exec(listener.output) ?? [];
    await publish(server, event("channel.followed"));
    const [sent] = await receiver.arrived(1);
    expect(new Webhook(secret).verify(sent?.body ?? "", sent?.headers ?? {})).toMatchObject({
      type: "channel.followed",
    });
    await listener.end();
    secrets.push(secret);
  }
  expect(secrets[1]).toBe(secrets[0]);
  expect(secrets).not.toContain(app.webhook_secret);
});

test("--type and --broadcaster leave out other events, and --since begins with earlier ones", async () => {
  const other = users.find(({ id }) => id === 1002)?.username ?? "";
  await subscribe(server, app, ["channel.followed"], 1002);
  const ofOther = await publish(server, event("channel.followed", { broadcaster_user_id: 1002 }));
  await publish(server, event("chat.message.sent"));
  await publish(server, event("channel.followed"));
  const listener = listen(["--json", "--since", "1h", "--type", "channel.followed", "--broadcaster", "1001"]);
  await listener.shows(/^\{.*\}$/);
  await listener.end();
  const sent = listener.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  expect(new Set(sent.map(({ type }) => type))).toEqual(new Set(["channel.followed"]));
  expect(sent.map(({ headers }) => headers["onair-event-id"])).not.toContain(ofOther.body["id"]);
  const byName = listen(["--json", "--since", "1h", "--broadcaster", other]);
  await byName.shows(/^\{.*\}$/);
  await byName.end();
  const [line = "", ...more] = byName.lines.filter((line) => line.startsWith("{"));
  expect([JSON.parse(line).headers["onair-event-id"], more]).toEqual([ofOther.body["id"], []]);
});

test.each<[string[], string]>([
  [["--since", "1h", "--from", "x"], "--since and --from exclude each other"],
  [["--since", "soon"], "--since must be a duration"],
  [["--type", "stream.online"], "Did you mean livestream.status.updated?"],
])("%j is wrong usage", async (args, message) => {
  const env = { ONAIR_TOKEN: app.token, ONAIR_URL: server.publicUrl };
  expectFailure(await run(["listen", ...args], { env }), 2, message);
});

test("--broadcaster is refused with a user's profile, which has only that user's events", async () => {
  const home = ownDirectory();
  const env = profileOf(server, app, home);
  const file = join(home, "onair", "profiles", "default.json");
  const session = { accessToken: "x", refreshToken: "y", expiresAt: Date.now() + 3_600_000 };
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), session }));
  const message = '--broadcaster is for applications: the profile "default" is of a user';
  expectFailure(await run(["listen", "--broadcaster", "1001"], { env }), 2, message);
  const create = ["subscriptions", "create", "channel.followed", "--broadcaster", "1001"];
  expectFailure(await run(create, { env }), 2, message);
});

test("--broadcaster is refused with a user's token, whose kind only the server knows", async () => {
  const server = await ownServer({ users, args: ["--login-url", loginUrl] });
  const app = await server.application({ delivery: "stream", redirect_uris: [redirectUri] });
  const { access_token } = await userTokens(server, app, { userId: 1001 });
  const message = "--broadcaster is for applications: the token is of the user";
  const create = ["subscriptions", "create", "channel.followed", "--broadcaster", "1001"];
  for (const command of [create, ["listen", "--broadcaster", "1001"]]) {
    const env = { ONAIR_TOKEN: access_token, ONAIR_URL: server.publicUrl };
    expectFailure(await run(command, { env }), 2, message);
  }
  const ofApplication = await run(create, { env: { ONAIR_TOKEN: app.token, ONAIR_URL: server.publicUrl } });
  expect([ofApplication.code, ofApplication.stderr]).toEqual([0, ""]);
});

test("the first 401 says that the secret is probably another one", async () => {
  const receiver = ownReceiver(() => new Response(null, { status: 401 }));
  const listener = listen(["--forward", receiver.url]);
  await listener.shows("Listening to");
  await publish(server, event("channel.followed"));
  await publish(server, event("channel.followed"));
  await listener.shows(/→ 401 in \d+ ms/, 2);
  await listener.end();
  expect(listener.output.split("or pass its own as --secret")).toHaveLength(2);
});

test("--json prints a line for each event with the local program's answer, and continues while that is down", async () => {
  const listener = listen(["--json", "--forward", `http://127.0.0.1:${closedPort}/`]);
  await listener.shows("Listening to");
  await publish(server, event("channel.followed"));
  await publish(server, event("chat.message.sent"));
  await listener.shows(/^\{.*\}$/, 2);
  await listener.end();
  expect(listener.lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      type: "channel.followed",
      id: expect.stringMatching(/^[A-Za-z0-9_-]{96}$/),
      verified: true,
      headers: { "onair-event-type": "channel.followed" },
      body: { type: "channel.followed", version: 1 },
      forwarded: {
        status: null,
        duration_ms: expect.any(Number),
        answer: "nothing listens there. Is the server running?",
      },
    },
    { type: "chat.message.sent" },
  ]);
});

test("a notice about the endpoint is printed as a sentence", async () => {
  const receiver = ownReceiver(() => new Response("", { status: 410 }));
  const mine = await server.application({ delivery: "both", webhook_url: receiver.url });
  await subscribe(server, mine, ["channel.followed"]);
  const listener = listen([], mine.token);
  await listener.shows("Listening to");
  await publish(server, event("channel.followed"));
  await listener.shows(
    /verified endpoint\.disabled [0-9A-Z]{26} Disabled since \S+Z: it answered 410, .* Have the receiver answer 2xx/,
  );
  expect(listener.output).not.toContain("{");
  expect(await listener.end()).toBe(0);
});

test("a refusal ends it with the server's message", async () => {
  const webhookOnly = await server.application();
  const refused = await run(["listen", "--url", server.publicUrl], {
    env: { ONAIR_TOKEN: webhookOnly.token },
  });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /answered 403: This application receives events only by webhook\. To change that, run "onair app change --delivery both"$/m,
    ),
  });
  const { token } = await server.application({ delivery: "stream" });
  const elsewhere = await run(["listen", "--url", server.publicUrl, "--from", "x"], {
    env: { ONAIR_TOKEN: token },
  });
  expectFailure(elsewhere, 1, "answered 400: --from is not an id of this stream");
  for (const [url, message] of [
    [server.publicUrl, "answered 401"],
    [server.adminUrl, "The URL must be that of the public listener."],
    ["http://127.0.0.1:9", "cannot be reached"],
  ] as const) {
    expectFailure(await run(["listen", "--url", url, "--token", "x"]), 1, message);
  }
});

test.each([
  [[], "there are no credentials"],
  [["--token", "x", "--url", "ftp://a"], "--url must be an http or https URL"],
  [["--token", "x", "--forward", "ftp://localhost"], "--forward must be an http or https URL"],
  [["--token", "x", "--secret", "whsec_short"], "--secret must be whsec_"],
  [["--token", "x", "--from", "a b"], "--from must be an id"],
  [["--token", "x", "word"], '"word" is not expected here'],
])("%p is wrong usage: %s", async (args, message) => {
  expectFailure(await run(["listen", ...args]), 2, message);
});
