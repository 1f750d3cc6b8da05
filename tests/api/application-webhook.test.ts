import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * An application looks after its webhook: its developer rotates the secret and enables the endpoint.
 */

const path = "/public/v1/application";
const clock = new Clock();
const server = await testServer({ clock, users, args: ["--rate-limit", "100000"] });

/** Answers with this status first, and then with 204. */
const receiver = (first = 204) =>
  testReceiver((_, number) => new Response(null, { status: number === 1 ? first : 204 }));

interface Shown {
  endpoint: { status: string; summary: string };
  secrets: { kind: string; prefix: string | null; created_at: string; expires_at: string | null }[];
}

const own = async (app: TestApplication): Promise<Shown> =>
  (await json<{ data: Shown }>(await server.get(path, app.token))).data;

describe("Rotate Webhook Secret", () => {
  const rotate = (app: TestApplication, body?: unknown) =>
    server.send("POST", `${path}/webhook-secret`, body, app.token);

  test("shows the new secret once; both sign until the overlap ends, and both ages are shown", async () => {
    const target = receiver();
    const app = await server.application({ webhook_url: target.url });
    await subscribe(server, app, ["channel.followed"]);
    const made = clock.now();
    clock.advance(1_000);
    const answer = await rotate(app, { overlap_seconds: 60 });
    expect(answer.status).toBe(200);
    const { data } = await json<{ data: { webhook_secret: string; overlap_until: string } }>(answer);
    expect(Object.keys(data)).toEqual(["webhook_secret", "overlap_until"]);
    expect(data.overlap_until).toBe(new Date(made + 61_000).toISOString());
    const seen = await (await server.get(path, app.token)).text();
    expect(seen).not.toContain(data.webhook_secret);
    expect((await own(app)).secrets.filter(({ kind }) => kind === "webhook_secret")).toEqual([
      {
        kind: "webhook_secret",
        prefix: data.webhook_secret.slice(0, 10),
        created_at: new Date(made + 1_000).toISOString(),
        expires_at: null,
      },
      {
        kind: "webhook_secret",
        prefix: app.webhook_secret.slice(0, 10),
        created_at: new Date(made).toISOString(),
        expires_at: data.overlap_until,
      },
    ]);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    const [sent] = await target.arrived(1);
    if (!sent) throw new Error("nothing arrived");
    const signatures = sent.headers["webhook-signature"]?.split(" ").filter((one) => one.startsWith("v1,"));
    const at = new Date(Number(sent.headers["webhook-timestamp"]) * 1000);
    const signedBy = (secret: string) =>
      new Webhook(secret).sign(sent.headers["webhook-id"] ?? "", at, sent.body);
    expect(signatures).toEqual([signedBy(data.webhook_secret), signedBy(app.webhook_secret)]);
    clock.advance(61_000);
    expect((await own(app)).secrets.map(({ kind }) => kind)).toEqual(["client_secret", "webhook_secret"]);
  });

  test("at most four older secrets are good at once", async () => {
    const app = await server.application();
    for (let i = 0; i < 4; i++) expect((await rotate(app)).status).toBe(200);
    const fifth = await rotate(app);
    expect([fifth.status, (await json<{ code: string }>(fifth)).code]).toEqual([409, "conflict"]);
    expect((await rotate(app, { overlap_seconds: 0 })).status).toBe(200);
    expect((await own(app)).secrets).toHaveLength(2);
  });
});

describe("Enable Endpoint", () => {
  const enable = ({ token }: TestApplication) =>
    server.send("POST", `${path}/endpoint/enable`, undefined, token);

  test("after a 410 the developer sees why, enables the endpoint, and pending deliveries are sent", async () => {
    const target = receiver(410);
    const app = await server.application({ webhook_url: target.url });
    await subscribe(server, app, ["channel.followed"]);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await until(async () => (await own(app)).endpoint.status === "disabled");
    const { endpoint } = await own(app);
    expect(endpoint).toMatchObject({
      disabled_reason: "gone",
      since: new Date(clock.now()).toISOString(),
      summary: `Disabled since ${new Date(clock.now()).toISOString()}: it answered 410, which asks for no further requests.`,
      advice: "Have the receiver answer 2xx, then enable the endpoint. Events for it are kept for 3 days.",
    });
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    const answer = await enable(app);
    expect(answer.status).toBe(200);
    expect((await json<{ data: Shown }>(answer)).data.endpoint.status).toBe("enabled");
    await target.arrived(2);
    await until(async () => (await own(app)).endpoint.summary.startsWith("The endpoint accepts deliveries"));
  });

  test("while the first attempt waits for an answer, a delivery is being sent, for operators too", async () => {
    const held = Promise.withResolvers<Response>();
    const target = testReceiver(() => held.promise);
    const app = await server.application({ webhook_url: target.url });
    const asOperator = async () =>
      json<object>(await server.admin("GET", `/admin/v1/applications/${app.id}/endpoint`));
    await subscribe(server, app, ["channel.followed"]);
    const idle = { pending: 0, next_attempt_at: null, summary: "Nothing was sent to the endpoint yet." };
    expect((await own(app)).endpoint).toMatchObject(idle);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await target.arrived(1);
    const sending = { pending: 1, next_attempt_at: null, summary: "A delivery is being sent now." };
    expect((await own(app)).endpoint).toMatchObject(sending);
    expect(await asOperator()).toMatchObject(sending);
    held.resolve(new Response(null, { status: 500 }));
    await until(async () => (await own(app)).endpoint.status === "failing");
    const waiting = { pending: 1, next_attempt_at: expect.stringMatching(/Z$/) };
    expect((await own(app)).endpoint).toMatchObject(waiting);
    expect(await asOperator()).toMatchObject(waiting);
    const others = await server.application({ webhook_url: target.url });
    expect((await own(others)).endpoint).toMatchObject(idle);
  });

  test("a failing one explains the last failure", async () => {
    const target = receiver(404);
    const app = await server.application({ webhook_url: target.url });
    await subscribe(server, app, ["channel.followed"]);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await until(async () => (await own(app)).endpoint.status === "failing");
    expect((await own(app)).endpoint).toMatchObject({
      failures: 1,
      summary: `Failing since ${new Date(clock.now()).toISOString()}, 1 attempt. The answer was 404.`,
      advice:
        "It answered 404: is the path of the webhook URL right? Fix that, then try it now; retries continue automatically.",
    });
  });

  test("without a webhook URL there is nothing to enable", async () => {
    const app = await server.application();
    const answer = await enable(app);
    expect([answer.status, (await json<{ code: string }>(answer)).code]).toEqual([409, "conflict"]);
    expect((await own(app)).endpoint).toMatchObject({
      status: "disabled",
      disabled_reason: "no_webhook_url",
      advice: "Set the webhook URL; a replay then sends the canceled deliveries.",
    });
  });
});
