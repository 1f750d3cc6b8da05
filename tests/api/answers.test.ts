import { expect, test } from "bun:test";
import { type Call, expectAsDocumented } from "../support/answers.ts";
import { authorizationRequest, formOf, loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import { event, publish, settled, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { documentedOf } from "../support/requests/documented.ts";
import {
  category,
  channel,
  json,
  live,
  ownServer,
  type TestServer,
  testServer,
  user,
} from "../support/server.ts";

/*
 * The server does not check its answers against the document, because that would cost too much. Here every route is
 * asked, and status, headers and body of its answer are held against what the document says; `fuzz.test.ts` does so with
 * the errors that all of them have.
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
const { token } = application;
const limited = await server.application({ scopes: ["events:subscribe"] });
const operations = (await documentedOf(server)).filter(({ listener }) => listener === "public");

const ask =
  (of: TestServer): Parameters<typeof expectAsDocumented>[2] =>
  (method, path, { token, body, headers }) => {
    if (body?.constructor === Object) return of.send(method, path, body, token);
    return of.get(path, token, {
      method,
      ...(headers && { headers }),
      ...(body && { body: body as string }),
    });
  };

const openCalls: Call[] = [
  "/public/v1/categories?limit=1",
  "/public/v1/categories/3",
  "/public/v1/events/types",
  "/public/v1/public-key",
  "/public/v1/public-key/standard-webhooks",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
].flatMap((path): Call[] => [
  [`GET ${path}`, 200],
  [`GET ${path}`, 304, { headers: { "if-none-match": "*" } }],
]);

function subscriptionCalls(): Call[] {
  const events = ["channel.followed", "no.such.event"].map((name) => ({ name, version: 1 }));
  const asText = { token, headers: { "content-type": "text/plain" } };
  return [
    [`POST ${subscriptionsPath}`, 200, { token, body: { events, broadcaster_user_id: 7 } }],
    [`POST ${subscriptionsPath}`, 400, { token, body: { events } }],
    [`POST ${subscriptionsPath}`, 413, { token, body: { events: "x".repeat(70_000) } }],
    [`POST ${subscriptionsPath}`, 415, { ...asText, body: "x" }],
    [`GET ${subscriptionsPath}`, 200, { token }],
    [`DELETE ${subscriptionsPath}?id=none`, 204, { token }],
  ];
}

/** Of an application to which something was sent. */
async function deliveryCalls(): Promise<Call[]> {
  const [id] = await subscribe(server, { token }, ["kicks.gifted"], 7);
  await publish(server, event("kicks.gifted", { broadcaster_user_id: 7 }));
  await settled(server);
  const [deliveries, replays, tests] = ["deliveries", "replays", "test"].map(
    (one) => `/public/v1/events/${one}`,
  );
  const list = await server.get(deliveries ?? "", token);
  const sent = (await json<{ data: { id: string }[] }>(list)).data[0]?.id;
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const made = await server.post(replays ?? "", { from: at(-9), to: at(-8) }, token);
  const replay = `${replays}/${(await json<{ data: { id: string } }>(made)).data.id}`;
  const range = { from: at(-1), to: at(1) };
  return [
    [`GET ${subscriptionsPath}/${id}`, 200, { token }],
    [`GET ${deliveries}`, 200, { token }],
    [`GET ${deliveries}/${sent}`, 200, { token }],
    [`POST ${deliveries}/${sent}/retry`, 202, { token }],
    [`POST ${replays}`, 202, { token, body: { ...range, dry_run: true } }],
    [`POST ${replays}`, 409, { token: limited.token, body: range }],
    [`GET ${replays}`, 200, { token }],
    [`GET ${replay}`, 200, { token }],
    [`DELETE ${replay}`, 204, { token }],
    ...[`POST ${tests}`, `POST ${tests}/stream`].flatMap((test): Call[] => [
      [test, 200, { token, body: { event: "kicks.gifted" } }],
      [test, 409, { token: limited.token, body: {} }],
    ]),
  ];
}

async function oauthCalls(): Promise<Call[]> {
  const { client_id, client_secret } = application;
  const { access_token, refresh_token } = await userTokens(server, application, { userId: 7 });
  const form = (fields: Record<string, string>) => {
    return { body: formOf({ grant_type: "client_credentials", client_id, client_secret, ...fields }) };
  };
  return [
    ["GET /oauth/userinfo", 200, { token: access_token }],
    ["GET /oauth/userinfo", 403, { token }],
    [`GET ${authorizationRequest(client_id)}`, 303],
    [`GET /oauth/authorize?client_id=${client_id}`, 400],
    ["POST /oauth/introspect", 200, form({ token })],
    ["POST /oauth/introspect", 200, form({ token: "x" })],
    ["POST /oauth/introspect", 401, form({ client_secret: "x", token: "x" })],
    ["POST /oauth/revoke", 200, form({ token: "x" })],
    ["POST /oauth/revoke", 401, form({ client_secret: "x", token: "x" })],
    ["POST /oauth/token", 200, form({})],
    ["POST /oauth/token", 200, form({ grant_type: "refresh_token", refresh_token })],
    ["POST /oauth/token", 400, form({ scope: "none" })],
    ["POST /oauth/token", 401, form({ client_secret: "wrong" })],
    ["POST /oauth/token", 413, form({ client_id: "x".repeat(70_000) })],
    ["POST /oauth/token", 415, { body: {} }],
  ];
}

async function ownCalls(): Promise<Call[]> {
  const path = "/public/v1/application";
  const { id, token } = await server.application({ webhook_url });
  await server.admin("PATCH", `/admin/v1/applications/${id}`, { locked: ["delivery"] });
  const filter = { type: "chat.message.sent", filter: { content: { $startsWith: "!" } } };
  return [
    ...["", "/notices", "/subscriptions", "/statistics?range=day", "/outcomes", "/requests"].map(
      (rest): Call => [`GET ${path}${rest}`, 200, { token }],
    ),
    [`PATCH ${path}`, 200, { token, body: { webhook_url: "http://127.0.0.1:9/other" } }],
    [`PATCH ${path}`, 403, { token, body: { delivery: "both" } }],
    [`POST ${path}/webhook-secret`, 200, { token }],
    [`POST ${path}/filters/test`, 200, { token, body: { ...filter, samples: [{ content: "!uptime" }] } }],
    [`POST ${path}/endpoint/enable`, 200, { token }],
    [`POST ${path}/endpoint/enable`, 409, { token: limited.token }],
  ];
}

test("every route answers as the document says", async () => {
  const stream = "GET /public/v1/events/stream";
  const calls: Call[] = [
    ...openCalls,
    ["GET /public/v1/users?id=7&id=8", 200, { token }],
    ["GET /public/v1/users/maya", 200, { token }],
    ["GET /public/v1/users/maya", 403, { token: limited.token }],
    ["GET /public/v1/users/search?query=may", 200, { token }],
    [stream, 200, { token: (await server.application({ delivery: "stream" })).token }],
    [stream, 403, { token }],
    ...subscriptionCalls(),
    ...(await deliveryCalls()),
    ...(await ownCalls()),
    ...(await oauthCalls()),
  ];
  const asked = await expectAsDocumented(operations, calls, ask(server));
  expect(asked).toEqual(new Set(operations.map(({ name }) => name)));
});

test("a caller over the limit is answered as the document says", async () => {
  const strict = await ownServer({ args: ["--rate-limit", "1"] });
  const calls = [200, 429].map((status): Call => ["GET /public/v1/public-key", status]);
  await expectAsDocumented(operations, calls, ask(strict));
});
