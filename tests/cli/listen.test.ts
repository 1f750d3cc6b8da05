import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { unusedPort } from "../support/ports.ts";
import { expectFailure, RunningCommand, run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, Receiver } from "../support/receiver.ts";
import { ownDirectory, ownServer, startServer, testServer } from "../support/server.ts";

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
  const receiver = new Receiver();
  const { url } = receiver;
  await receiver.stop();
  const listener = listen(["--json", "--forward", url]);
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

test("resumes without a gap after the server was away", async () => {
  const data = ownDirectory();
  const free = String(await unusedPort());
  const first = await startServer({ data, args: ["--port", free] });
  await first.load("users", users);
  const mine = await first.application({ delivery: "stream" });
  await subscribe(first, mine, ["channel.followed"]);
  const listener = listen(["--json"], mine.token, first.publicUrl);
  await listener.shows("Listening to");
  await publish(first, event("channel.followed", { id: "before" }));
  await listener.shows('"before"');
  await first.stop();
  await listener.shows("again in");
  const second = await ownServer({ data, args: ["--port", free] });
  await publish(second, event("channel.followed", { id: "after" }));
  await listener.shows('"after"');
  expect(listener.output.match(/"before"/g)).toHaveLength(1);
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
