import { test } from "bun:test";
import {
  authorizationRequest,
  loginUrl,
  redirectUri,
  type TokenAnswer,
  userTokens,
} from "../support/oauth.ts";
import { type Call, documentOf, expectAllOperations, expectAsDocumented } from "../support/openapi.ts";
import { event, publish, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import {
  category,
  channel,
  json,
  live,
  ownServer,
  type TestApplication,
  type TestServer,
  testServer,
  user,
} from "../support/server.ts";

/*
 * The server does not check its answers against the document, because that would cost too much. Here every route is
 * asked, and status, headers and body of its answer are held against what the document says.
 */

const server = await testServer({
  engineThread: true,
  args: ["--rate-limit", "6000", "--login-url", loginUrl],
});
await server.load("users", [user(7, "maya", { display_name: "Maya", followers_count: 5 })]);
await server.load("categories", [category(3, "Chess", { tags: ["Board game"] }), category(4, "Go")]);
await server.load("channels", [channel(70, "maya", 7)]);
await server.load("livestreams", [live(70, 3, 12)]);
const webhook_url = "http://127.0.0.1:9/hook";
const application = await server.application({ webhook_url, redirect_uris: [redirectUri] });
const limited = await server.application({ scopes: ["events:subscribe"] });
const readOnly = await server.application({ scopes: ["users:read"] });
const document = await documentOf(server.publicUrl);

interface PublicCall extends Call {
  readonly token?: string;
  readonly init?: RequestInit;
}

function posted(body: unknown, type = "application/json"): RequestInit {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { method: "POST", headers: { "content-type": type }, body: text };
}

function userCalls(token: string): PublicCall[] {
  const get = "GET /public/v1/users/{username}";
  const search = "GET /public/v1/users/search";
  const list = "GET /public/v1/users";
  return [
    { operation: list, status: 200, path: "/public/v1/users?id=7&id=8", token },
    { operation: list, status: 400, path: "/public/v1/users", token },
    { operation: get, status: 200, path: "/public/v1/users/maya", token },
    { operation: get, status: 404, path: "/public/v1/users/nobody", token },
    { operation: get, status: 400, path: "/public/v1/users/no%20body", token },
    { operation: get, status: 401, path: "/public/v1/users/maya" },
    { operation: get, status: 401, path: "/public/v1/users/maya", token: "wrong" },
    { operation: get, status: 403, path: "/public/v1/users/maya", token: limited.token },
    { operation: search, status: 200, path: "/public/v1/users/search?query=may", token },
    { operation: search, status: 400, path: "/public/v1/users/search?query=a&limit=0", token },
  ];
}

function subscriptionCalls(token: string): PublicCall[] {
  const post = { operation: `POST ${subscriptionsPath}`, path: subscriptionsPath, token };
  const remove = { operation: `DELETE ${subscriptionsPath}`, token, init: { method: "DELETE" } };
  const events = [
    { name: "channel.followed", version: 1 },
    { name: "no.such.event", version: 1 },
  ];
  return [
    { ...post, status: 200, init: posted({ events, broadcaster_user_id: 7 }) },
    { ...post, status: 400, init: posted({ events }) },
    { ...post, status: 400, init: posted({ events: [{}] }) },
    { ...post, status: 400, init: posted("{") },
    { ...post, status: 413, init: posted("x".repeat(70_000)) },
    { ...post, status: 415, init: posted("x", "text/plain") },
    { operation: `GET ${subscriptionsPath}`, status: 200, path: subscriptionsPath, token },
    { ...remove, status: 400, path: subscriptionsPath },
    { ...remove, status: 204, path: `${subscriptionsPath}?id=none` },
  ];
}

function streamCalls(streaming: string): PublicCall[] {
  const path = "/public/v1/events/stream";
  const get = { operation: `GET ${path}`, path, token: streaming };
  return [
    { ...get, status: 200 },
    { ...get, status: 403, token: application.token },
    { ...get, status: 400, init: { headers: { "last-event-id": "x" } } },
  ];
}

const deliveries = "/public/v1/events/deliveries";

/** Of an application to which something was sent. */
async function deliveryCalls(token: string): Promise<PublicCall[]> {
  const [id] = await subscribe(server, { token }, ["kicks.gifted"], 7);
  await publish(server, event("kicks.gifted", { broadcaster_user_id: 7 }));
  await settled(server);
  const { data } = await json<{ data: { id: string }[] }>(await server.get(deliveries, token));
  const sent = data[0]?.id;
  const list = { operation: `GET ${deliveries}`, token };
  const get = { operation: `GET ${deliveries}/{id}`, token };
  const health = { operation: `GET ${subscriptionsPath}/{id}`, token };
  const path = "/public/v1/events/test";
  const tests = [path, `${path}/stream`].map((path) => ({ operation: `POST ${path}`, path, token }));
  const retry = { operation: `POST ${deliveries}/{id}/retry`, token, init: { method: "POST" } };
  return [
    { ...health, status: 200, path: `${subscriptionsPath}/${id}` },
    { ...health, status: 404, path: `${subscriptionsPath}/none` },
    { ...list, status: 200, path: deliveries },
    { ...list, status: 400, path: `${deliveries}?status=lost` },
    { ...list, status: 400, path: `${deliveries}?cursor=forged` },
    { ...list, status: 403, path: deliveries, token: readOnly.token },
    { ...get, status: 200, path: `${deliveries}/${sent}` },
    { ...get, status: 404, path: `${deliveries}/none` },
    { ...retry, status: 202, path: `${deliveries}/${sent}/retry` },
    { ...retry, status: 404, path: `${deliveries}/none/retry` },
    ...(await replayCalls(token)),
    ...tests.flatMap((test) => [
      { ...test, status: 200, init: posted({ event: "kicks.gifted" }) },
      { ...test, status: 400, init: posted({ event: "none" }) },
      { ...test, status: 409, init: posted({}), token: limited.token },
    ]),
  ];
}

async function replayCalls(token: string): Promise<PublicCall[]> {
  const path = "/public/v1/events/replays";
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const old = { from: at(-9), to: at(-8) };
  const { data } = await json<{ data: { id: string } }>(await server.post(path, old, token));
  const post = { operation: `POST ${path}`, path, token };
  const get = { operation: `GET ${path}/{id}`, token };
  const cancel = { operation: `DELETE ${path}/{id}`, token, init: { method: "DELETE" } };
  return [
    { ...post, status: 202, init: posted({ from: at(-1), to: at(1), dry_run: true }) },
    { ...post, status: 400, init: posted({ from: at(1), to: at(-1) }) },
    { ...post, status: 409, init: posted({ from: at(-1), to: at(1) }), token: limited.token },
    { operation: `GET ${path}`, status: 200, path, token },
    { ...get, status: 200, path: `${path}/${data.id}` },
    { ...get, status: 404, path: `${path}/none` },
    { ...cancel, status: 204, path: `${path}/${data.id}` },
    { ...cancel, status: 404, path: `${path}/none` },
  ];
}

function openCalls(): PublicCall[] {
  const standardKey = "/public/v1/public-key/standard-webhooks";
  const list = "GET /public/v1/categories";
  const get = "GET /public/v1/categories/{id}";
  const known = { headers: { "if-none-match": "*" } };
  return [
    { operation: list, status: 200, path: "/public/v1/categories?limit=1" },
    { operation: list, status: 304, path: "/public/v1/categories", init: known },
    { operation: list, status: 400, path: "/public/v1/categories?cursor=forged" },
    { operation: list, status: 400, path: "/public/v1/categories?limit=0" },
    { operation: get, status: 200, path: "/public/v1/categories/3" },
    { operation: get, status: 304, path: "/public/v1/categories/3", init: known },
    ...["/public/v1/events/types", "/public/v1/public-key", standardKey].map((path) => {
      return { operation: `GET ${path}`, status: 304, path, init: known };
    }),
    { operation: get, status: 400, path: "/public/v1/categories/x" },
    { operation: get, status: 404, path: "/public/v1/categories/5" },
    { operation: "GET /public/v1/events/types", status: 200, path: "/public/v1/events/types" },
    { operation: "GET /public/v1/public-key", status: 200, path: "/public/v1/public-key" },
    { operation: `GET ${standardKey}`, status: 200, path: standardKey },
  ];
}

function tokenCalls(
  { client_id, client_secret, token: accessToken }: TestApplication,
  { access_token: userToken, refresh_token }: TokenAnswer,
): PublicCall[] {
  const form = (fields: Record<string, string>): RequestInit => {
    return { method: "POST", body: new URLSearchParams({ grant_type: "client_credentials", ...fields }) };
  };
  const refresh = { grant_type: "refresh_token" };
  const token = { operation: "POST /oauth/token", path: "/oauth/token" };
  const revoke = { operation: "POST /oauth/revoke", path: "/oauth/revoke" };
  const introspect = { operation: "POST /oauth/introspect", path: "/oauth/introspect" };
  const metadata = "/.well-known/oauth-authorization-server";
  const openId = "/.well-known/openid-configuration";
  const userInfo = { operation: "GET /oauth/userinfo", path: "/oauth/userinfo" };
  const authorize = { operation: "GET /oauth/authorize" };
  return [
    { operation: `GET ${metadata}`, status: 200, path: metadata },
    { operation: `GET ${openId}`, status: 200, path: openId },
    { ...userInfo, status: 200, token: userToken },
    { ...userInfo, status: 401 },
    { ...userInfo, status: 403, token: accessToken },
    { ...authorize, status: 303, path: authorizationRequest(client_id) },
    { ...authorize, status: 400, path: `/oauth/authorize?client_id=${client_id}` },
    { ...introspect, status: 200, init: form({ client_id, client_secret, token: accessToken }) },
    { ...introspect, status: 200, init: form({ client_id, client_secret, token: "x" }) },
    { ...introspect, status: 400, init: form({ client_id, client_secret }) },
    { ...introspect, status: 401, init: form({ client_id, token: "x" }) },
    { ...revoke, status: 200, init: form({ client_id, client_secret, token: "x" }) },
    { ...revoke, status: 400, init: form({ client_id, client_secret }) },
    { ...revoke, status: 401, init: form({ client_id: "x", token: "x" }) },
    { ...token, status: 200, init: form({ client_id, client_secret }) },
    { ...token, status: 200, init: form({ client_id, client_secret, ...refresh, refresh_token }) },
    { ...token, status: 400, init: form({ client_id, client_secret, scope: "none" }) },
    { ...token, status: 400, init: form({ client_id, client_secret, grant_type: "password" }) },
    { ...token, status: 400, init: form({ client_id, client_secret, ...refresh, refresh_token: "x" }) },
    { ...token, status: 401, init: form({ client_id, client_secret: "wrong" }) },
    { ...token, status: 413, init: form({ client_id: "x".repeat(70_000) }) },
    { ...token, status: 415, init: posted({}) },
  ];
}

async function ownCalls(): Promise<PublicCall[]> {
  const path = "/public/v1/application";
  const { id, token } = await server.application({ webhook_url });
  await server.admin("PATCH", `/admin/v1/applications/${id}`, { locked: ["delivery"] });
  const hookless = await server.application();
  const change = (body: unknown): RequestInit => ({ ...posted(body), method: "PATCH" });
  const patch = { operation: `PATCH ${path}`, path, token };
  const [rotate, enable] = [`${path}/webhook-secret`, `${path}/endpoint/enable`];
  const filters = `${path}/filters/test`;
  const filter = { type: "chat.message.sent", filter: { content: { $startsWith: "!" } } };
  const post = (to: string) => ({ operation: `POST ${to}`, path: to, token, init: { method: "POST" } });
  return [
    { operation: `GET ${path}`, status: 200, path, token },
    { operation: `GET ${path}`, status: 401, path },
    { operation: `GET ${path}/notices`, status: 200, path: `${path}/notices`, token },
    { operation: `GET ${path}/subscriptions`, status: 200, path: `${path}/subscriptions`, token },
    { operation: `GET ${path}/subscriptions`, status: 400, path: `${path}/subscriptions?cursor=x`, token },
    { operation: `GET ${path}/statistics`, status: 200, path: `${path}/statistics?range=day`, token },
    { operation: `GET ${path}/statistics`, status: 400, path: `${path}/statistics?range=`, token },
    { operation: `GET ${path}/outcomes`, status: 200, path: `${path}/outcomes`, token },
    { operation: `GET ${path}/outcomes`, status: 401, path: `${path}/outcomes` },
    { operation: `GET ${path}/notices`, status: 400, path: `${path}/notices?limit=0`, token },
    { ...patch, status: 200, init: change({ webhook_url: "http://127.0.0.1:9/other" }) },
    { ...patch, status: 400, init: change({ webhook_url: "ftp://x" }) },
    { ...patch, status: 403, init: change({ delivery: "both" }) },
    { ...post(rotate), status: 200 },
    { ...post(rotate), status: 400, init: posted({ overlap_seconds: -1 }) },
    { ...post(filters), status: 200, init: posted({ ...filter, samples: [{ content: "!uptime" }] }) },
    { ...post(filters), status: 400, init: posted({ type: "no.such.event" }) },
    { operation: `GET ${path}/requests`, status: 200, path: `${path}/requests`, token },
    { ...post(enable), status: 200 },
    { ...post(enable), status: 409, token: hookless.token },
  ];
}

const ask =
  (of: TestServer) =>
  ({ path, token, init }: PublicCall) =>
    of.get(path, token, init);

test("every route answers as the document says", async () => {
  const { token } = application;
  const ofUser = await userTokens(server, application, { userId: 7 });
  const calls = [
    ...userCalls(token),
    ...subscriptionCalls(token),
    ...streamCalls((await server.application({ delivery: "stream" })).token),
    ...(await deliveryCalls(token)),
    ...(await ownCalls()),
    ...openCalls(),
    ...tokenCalls(application, ofUser),
  ];
  expectAllOperations(document, calls);
  await expectAsDocumented(document, calls, ask(server));
});

test("a caller over the limit is answered as the document says", async () => {
  const strict = await ownServer({ args: ["--rate-limit", "1"] });
  const call = { operation: "GET /public/v1/public-key", path: "/public/v1/public-key" };
  const calls = [200, 429].map((status) => ({ ...call, status }));
  await expectAsDocumented(document, calls, ask(strict));
});
