import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { minute } from "../../src/domain/time.ts";
import { keptLog } from "../support/log.ts";
import { event, publish, sendDue, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { type Answer, ownReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

/*
 * Headers of an application's own: every webhook carries them, only to the origin that they were set for, and nothing
 * else shows their values.
 */

const path = "/public/v1/application";
const secret = "s3cret-of-the-gateway";
const credentials = "dXNlcjpzM2NyZXQ=";
const headers = { "X-Api-Key": secret, Authorization: `Basic ${credentials}` };
const masked = { "X-Api-Key": "••••••••", Authorization: "••••••••" };
const followed = "channel.followed";

const clock = new Clock(Date.now() - 2 * minute);
const kept = keptLog("debug", clock.now);
const server = await testServer({ clock, users, log: kept.log, args: ["--rate-limit", "0"] });

interface Shown {
  webhook_url: string;
  webhook_headers: Record<string, string>;
}
interface Refused {
  code: string;
  errors: { field: string; message: string }[];
}

const change = (app: TestApplication, body: object) => server.send("PATCH", path, body, app.token);
const asOperator = (app: TestApplication, body: object) =>
  server.admin("PATCH", `/admin/v1/applications/${app.id}`, body);

async function changed(app: TestApplication, body: object): Promise<Shown> {
  const answer = await change(app, body);
  expect(answer.status).toBe(200);
  return (await json<{ data: Shown }>(answer)).data;
}

async function refused(answer: Promise<Response>): Promise<[number, string, string[]]> {
  const response = await answer;
  const text = await response.text();
  expect(text).not.toContain(secret);
  const { code, errors } = JSON.parse(text) as Refused;
  return [response.status, code, errors.map(({ field }) => field)];
}

/** An application with these headers, subscribed, and its receiver. */
async function subscribed(more: object = {}, answer?: Answer) {
  const receiver = ownReceiver(answer);
  const app = await server.application({ webhook_url: receiver.url, webhook_headers: headers, ...more });
  await subscribe(server, app, [followed]);
  return { app, receiver };
}

/** Publishes an event and returns what the receiver gets of it. */
const delivered = ({ receiver }: Awaited<ReturnType<typeof subscribed>>) =>
  receiver.next(async () => expect((await publish(server, event(followed))).status).toBe(202));

test("every webhook carries them and Accept: */*, a retry and a test too, beside the signed headers", async () => {
  const target = await subscribed(
    {},
    (_, number) => new Response(null, { status: number === 1 ? 500 : 204 }),
  );
  const { app, receiver } = target;
  await delivered(target);
  await settled(server);
  clock.advance(minute);
  await sendDue(server, app);
  await receiver.arrived(2);
  await server.post("/public/v1/events/test", {}, app.token);
  const received = await receiver.arrived(3);
  for (const { headers, body } of received) {
    expect(headers).toMatchObject({
      "x-api-key": secret,
      authorization: `Basic ${credentials}`,
      accept: "*/*",
      "content-type": "application/json",
    });
    expect(() => new Webhook(app.webhook_secret).verify(body, headers)).not.toThrow();
  }
  expect(received.map((one) => one.headers["webhook-id"]?.startsWith("test_"))).toEqual([false, false, true]);
  expect(received.map((one) => one.headers["onair-attempt"])).toEqual(["1", "2", "1"]);
});

test("a change holds for everything sent after its acknowledgement, by developer and operator", async () => {
  const target = await subscribed();
  expect(
    (await changed(target.app, { webhook_headers: { "x-api-key": "next-key" } })).webhook_headers,
  ).toEqual({
    "x-api-key": "••••••••",
    Authorization: "••••••••",
  });
  expect((await delivered(target)).headers).toMatchObject({
    "x-api-key": "next-key",
    authorization: headers.Authorization,
  });
  await changed(target.app, { webhook_headers: { authorization: null } });
  expect((await delivered(target)).headers).not.toHaveProperty("authorization");
  const answer = await asOperator(target.app, { webhook_headers: { "X-Other": "of-the-operator" } });
  expect((await json<Shown>(answer)).webhook_headers).toEqual({
    "x-api-key": "••••••••",
    "X-Other": "••••••••",
  });
  expect((await delivered(target)).headers).toMatchObject({
    "x-api-key": "next-key",
    "x-other": "of-the-operator",
  });
  expect((await changed(target.app, { webhook_headers: null })).webhook_headers).toEqual({});
  const last = await delivered(target);
  for (const name of ["x-api-key", "x-other", "authorization"]) expect(last.headers).not.toHaveProperty(name);
});

test("no answer shows a value, nor the log or the audit log, also where the receiver repeats it", async () => {
  const echo: Answer = ({ headers }) =>
    Response.json(headers, {
      status: 500,
      headers: { "x-echo": headers["x-api-key"] ?? "", "x-basic": credentials },
    });
  const receiver = ownReceiver(echo);
  const fields = { name: "Keyed", webhook_url: receiver.url, webhook_headers: headers };
  const created = await server.admin("POST", "/admin/v1/applications", fields);
  const creation = await created.text();
  const made = JSON.parse(creation) as Omit<TestApplication, "token"> & Shown;
  expect(made.webhook_headers).toEqual(masked);
  const { client_id, client_secret } = made;
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const issued = await server.get("/oauth/token", undefined, { method: "POST", body: form });
  const app = { ...made, token: (await json<{ access_token: string }>(issued)).access_token };
  await subscribe(server, app, [followed]);
  await receiver.next(() => publish(server, event(followed)));
  await settled(server);
  const { id } = app;
  const listPath = `/public/v1/events/deliveries`;
  const listed = await json<{ data: { id: string }[] }>(await server.get(listPath, app.token));
  const answers = [
    await change(app, { webhook_headers: { "X-Api-Key": secret } }),
    await asOperator(app, { webhook_headers: headers }),
    await server.get(path, app.token),
    await server.admin("GET", `/admin/v1/applications/${id}`),
    await server.admin("GET", `/admin/v1/applications?id=${id}`),
    await server.get(listPath, app.token),
    await server.get(`${listPath}/${listed.data[0]?.id}`, app.token),
    await server.admin("GET", `/admin/v1/deliveries/${listed.data[0]?.id}`),
    await server.admin("GET", "/admin/v1/audit"),
    await server.post("/public/v1/events/test", {}, app.token),
    await server.post("/public/v1/events/test/stream", {}, app.token),
  ];
  expect(listed.data).toHaveLength(1);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const texts = [creation, ...(await Promise.all(answers.map((answer) => answer.text())))];
  for (const text of [...texts, ...(await kept.lines())]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(credentials);
  }
  // The receiver did repeat them, and its answers are shown otherwise.
  for (const text of [texts[7], texts[8], texts[10]]) expect(text).toContain("(secret)");
  expect(texts[10]).toContain('"X-Api-Key":"••••••••"');
});

test("a value that is cut at the end of what is kept of an answer is not shown in part", async () => {
  const echo: Answer = ({ headers }) =>
    new Response(`${"x".repeat(1_010)}${headers["x-api-key"]}`, { status: 500 });
  const target = await subscribed({}, echo);
  await delivered(target);
  await settled(server);
  const answer = await server.get("/public/v1/events/deliveries", target.app.token);
  const { data } = await json<{ data: { attempts: { response: string }[] }[] }>(answer);
  expect(data[0]?.attempts[0]?.response).toBe("x".repeat(1_010));
});

describe("a webhook URL of another origin", () => {
  test("is refused while it does not say what becomes of them, and changes nothing", async () => {
    const target = await subscribed();
    const other = ownReceiver();
    for (const webhook_url of [other.url, null]) {
      const asked = [400, "invalid_parameter", ["webhook_headers"]];
      expect(await refused(change(target.app, { webhook_url }))).toEqual(asked as never);
      expect(await refused(asOperator(target.app, { webhook_url }))).toEqual(asked as never);
    }
    expect((await delivered(target)).headers["x-api-key"]).toBe(secret);
    expect(other.received).toEqual([]);
  });

  test("gets only those that are set with it", async () => {
    const target = await subscribed();
    const other = ownReceiver();
    const shown = await changed(target.app, {
      webhook_url: other.url,
      webhook_headers: { "X-New": "of-another" },
    });
    expect(shown.webhook_headers).toEqual({ "X-New": "••••••••" });
    await publish(server, event(followed));
    const [sent] = await other.arrived(1);
    expect(sent?.headers).toMatchObject({ "x-new": "of-another" });
    expect(sent?.headers).not.toHaveProperty("x-api-key");
    expect(sent?.headers).not.toHaveProperty("authorization");
  });
});

// The domain's `webhook-headers.test.ts` has the rules.
describe("refused are", () => {
  test.each<[string, unknown, string[]]>([
    [
      "reserved and malformed names, all at once",
      { "Webhook-Signature": "v1,x", "Content-Type": "a/b", "a b": "c", OK: "ok" },
      ["Webhook-Signature", "Content-Type", "a b"].map((name) => `webhook_headers.${name}`),
    ],
    ["a value that ends its line", { "X-Key": `${secret}\r\nhost: x` }, ["webhook_headers.X-Key"]],
    ["a mask", masked, ["webhook_headers.X-Api-Key", "webhook_headers.Authorization"]],
    ["a number", { "X-Key": 5 }, ["webhook_headers.X-Key"]],
  ])("%s", async (_, webhook_headers, fields) => {
    const app = await server.application({ webhook_url: "http://127.0.0.1:9/" });
    const expected: [number, string, string[]] = [400, "invalid_parameter", fields];
    expect(await refused(change(app, { webhook_headers }))).toEqual(expected);
    expect(await refused(asOperator(app, { webhook_headers }))).toEqual(expected);
    const creating = { name: "No", webhook_url: "http://127.0.0.1:9/", webhook_headers };
    expect(await refused(server.admin("POST", "/admin/v1/applications", creating))).toEqual(expected);
    expect((await changed(app, {})).webhook_headers).toEqual({});
  });

  test("changes of the developer while they are locked, but not of the operator", async () => {
    const { app } = await subscribed({ locked: ["webhook_headers"] });
    for (const webhook_headers of [{ A: "b" }, null, {}])
      expect(await refused(change(app, { webhook_headers }))).toEqual([403, "locked", ["webhook_headers"]]);
    expect((await changed(app, { delivery: "both" })).webhook_headers).toEqual(masked);
    expect((await asOperator(app, { webhook_headers: { A: "b" } })).status).toBe(200);
  });
});
