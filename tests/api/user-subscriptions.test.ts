import { expect, test } from "bun:test";
import { redirectUri, signInServer } from "../support/oauth.ts";
import { type Exchange, testWebhookPath } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication } from "../support/server.ts";

let app: TestApplication;
let token: string;
const path = "/public/v1/events/subscriptions";
const follow = { name: "channel.followed", version: 1 };

/** Event subscriptions with the token of a user: section 4.3 of the public document, "authenticated user". */
const { server, newApp, userTokens } = await signInServer();

interface Row {
  readonly id: string;
  readonly broadcaster_user_id: number;
}

async function subscribe(body: object, as = token) {
  const response = await server.post(path, { events: [follow], ...body }, as);
  const answer = await json<{ data: { subscription_id: string; error?: string }[] }>(response);
  return { status: response.status, headers: response.headers, id: answer.data?.[0]?.subscription_id ?? "" };
}
async function listed(as: string): Promise<Row[]> {
  const { data } = await json<{ data: Row[] }>(await server.get(path, as));
  return data;
}
const remove = (ids: string[], as: string) =>
  server.get(`${path}?${ids.map((id) => `id=${id}`).join("&")}`, as, { method: "DELETE" });

/** An application that has subscribed to user 1002 by itself and has a token of user 1001. */
async function setUp(): Promise<{ own: string; others: string }> {
  app = await server.application({ redirect_uris: [redirectUri], webhook_url: "http://127.0.0.1:9/hook" });
  token = (await userTokens(app)).access_token;
  const others = (await subscribe({ broadcaster_user_id: 1002 }, app.token)).id;
  return { own: (await subscribe({})).id, others };
}

test("POST: the broadcaster is the user, whomever the body names, with the budget of the whole application", async () => {
  const { own } = await setUp();
  const bodies = [{}, ...[null, 1001, 1002, 999_999_999].map((id) => ({ broadcaster_user_id: id }))];
  for (const body of bodies) expect(await subscribe(body)).toMatchObject({ status: 200, id: own });
  const { id, headers } = await subscribe({ broadcaster_user_id: 1001 }, app.token);
  expect(id).toBe(own);
  expect([headers.get("onair-subscriptions-used"), headers.get("onair-subscriptions-limit")]).toEqual([
    "2",
    "10000",
  ]);
  const rows = await listed(app.token);
  expect(rows.map(({ broadcaster_user_id }) => broadcaster_user_id).sort()).toEqual([1001, 1002]);
});

test("the scope events:subscribe is that of the user's token", async () => {
  await setUp();
  const reader = await userTokens(app, { consent: { scopes: ["users:read"] } });
  const refused = await server.post(path, { events: [follow] }, reader.access_token);
  expect(refused.status).toBe(403);
  expect((await server.get(path, reader.access_token)).status).toBe(403);
});

test("GET shows the subscriptions of the user; the application sees them all", async () => {
  const { own, others } = await setUp();
  expect((await listed(token)).map(({ id, broadcaster_user_id }) => [id, broadcaster_user_id])).toEqual([
    [own, 1001],
  ]);
  expect((await listed(app.token)).map(({ id }) => id)).toEqual([others, own]);
  const elsewhere = await newApp();
  expect(await listed((await userTokens(elsewhere)).access_token)).toEqual([]);
});

test("DELETE reaches the subscriptions of the user, those of other broadcasters only with the application's token", async () => {
  const { own, others } = await setUp();
  expect((await remove([others, own], token)).status).toBe(204);
  expect((await listed(app.token)).map(({ id }) => id)).toEqual([others]);
  expect((await remove([others], app.token)).status).toBe(204);
  expect(await listed(app.token)).toEqual([]);
});

test("a test shows a user the origin of the webhook URL, and the application all of it", async () => {
  // Many servers redirect to the same path and query.
  const location = "/hooks/1/?key=of-the-receiver";
  const receiver = testReceiver(() => new Response(null, { status: 302, headers: { location } }));
  const { origin } = new URL(receiver.url);
  const webhook_url = `${origin}/hooks/1?key=of-the-receiver`;
  const tested = await newApp({ webhook_url });
  const own = await userTokens(tested);
  const shown = async (path: string, token: string) => (await server.post(path, {}, token)).text();
  const streamed = await shown(`${testWebhookPath}/stream`, own.access_token);
  const text = await shown(testWebhookPath, own.access_token);
  for (const answer of [text, streamed]) {
    expect(answer).not.toContain("/hooks/1");
    expect(answer).not.toContain("of-the-receiver");
  }
  const { data } = JSON.parse(text) as { data: Exchange };
  expect(data.request.url).toBe(`${origin}/`);
  expect(receiver.received.length).toBe(2);
  expect(await shown(testWebhookPath, tested.token)).toContain(webhook_url);
});
