import { expect, test } from "bun:test";
import { type Call, expectAsDocumented } from "../support/answers.ts";
import { backupsPath, madeBackup } from "../support/backups.ts";
import { authorizationRequest, Browser, challengeFor, loginUrl, redirectUri } from "../support/oauth.ts";
import { publish, event as sample, settled, subscribe } from "../support/publishing.ts";
import { documentedOf } from "../support/requests/documented.ts";
import { adminKey, isOnPostgres, json, testServer } from "../support/server.ts";

const server = await testServer({ engineThread: true, args: ["--login-url", loginUrl] });
const operations = (await documentedOf(server)).filter(({ listener }) => listener === "admin");
const admin = "/admin/v1";

/** The id of what a request makes. */
const made = async (path: string, body: object) =>
  (await json<{ id: string }>(await server.admin("POST", path, body))).id;

/** Of an application to which something was sent. */
async function deliveryCalls(): Promise<Call[]> {
  await server.load("users", [{ id: 77, username: "mona" }]);
  const application = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  await subscribe(server, application, ["kicks.gifted"], 77);
  await publish(server, { ...sample("kicks.gifted"), broadcaster_user_id: 77 });
  await settled(server);
  const list = await server.admin("GET", `${admin}/deliveries`);
  const delivery = `${admin}/deliveries/${(await json<{ data: { id: string }[] }>(list)).data[0]?.id}`;
  const range = { from: "2026-01-14T16:00:00Z", to: "2026-01-14T17:00:00Z" };
  const asked = { application_id: application.id, ...range };
  const replay = `${admin}/replays/${await made(`${admin}/replays`, asked)}`;
  const { id: unreachable } = await server.application();
  const of = `?application_id=${application.id}`;
  return [
    ...[
      `deliveries${of}`,
      "deliveries",
      "deliveries/hold",
      "replays",
      "endpoints",
      "outcomes",
      "statistics",
      `statistics${of}&range=week`,
      "storage",
      "backlog",
      "settings",
      `subscriptions${of}`,
      `applications/${application.id}/usage`,
      `applications/${application.id}/endpoint`,
      "audit",
      "notices",
    ].map((path): Call => [`GET ${admin}/${path}`, 200]),
    [`DELETE ${admin}/deliveries/hold`, 204],
    [`GET ${delivery}`, 200],
    [`POST ${delivery}/retry`, 202],
    [`POST ${admin}/replays`, 202, { body: { ...asked, dry_run: true } }],
    [`POST ${admin}/replays`, 409, { body: { ...asked, application_id: unreachable } }],
    [`GET ${replay}`, 200],
    [`DELETE ${replay}`, 204],
    [`POST ${admin}/applications/${application.id}/endpoint/enable`, 200],
  ];
}

/** Of a backup that is done; a second one runs meanwhile. */
async function backupCalls(): Promise<Call[]> {
  const { id, size_bytes } = await madeBackup(server);
  const path = `${backupsPath}/${id}`;
  return [
    [`POST ${backupsPath}`, 202],
    [`POST ${backupsPath}`, 409],
    [`GET ${backupsPath}`, 200],
    [`GET ${path}`, 200],
    [`GET ${path}/content`, 200],
    [`GET ${path}/content`, 206, { headers: { range: "bytes=0-15" } }],
    [`GET ${path}/content`, 416, { headers: { range: `bytes=${size_bytes}-` } }],
    [`DELETE ${path}`, 204],
  ];
}

/** Of the platform's data, what is deleted again last. */
function platformCalls(): Call[] {
  const event = sample("channel.followed", { broadcaster_user_id: 7 });
  const raffle = { version: 1, schema: { type: "object" }, example: { winner: "maya" } };
  const type = `${admin}/event-types/raffle.won`;
  const chess = { name: "Chess", slug: "chess", tags: ["Calm"] };
  return [
    [`PUT ${type}`, 200, { body: raffle }],
    [`PUT ${type}`, 409, { body: { ...raffle, schema: { type: "object", title: "x" } } }],
    [`GET ${admin}/event-types`, 200],
    [`DELETE ${admin}/event-types/channel.followed?version=1`, 409],
    [`DELETE ${type}?version=1`, 204],
    [`PUT ${admin}/users/7`, 200, { body: { username: "maya" } }],
    [`PUT ${admin}/users/8`, 409, { body: { username: "maya" } }],
    [`POST ${admin}/users/batch`, 200, { body: '{"id":9,"username":"nine"}\n{' }],
    [`PUT ${admin}/categories/3`, 200, { body: chess }],
    [`POST ${admin}/categories/batch`, 200, { body: "{}" }],
    [`PUT ${admin}/channels/70`, 200, { body: { user_id: 7, slug: "maya" } }],
    [`POST ${admin}/channels/batch`, 200, { body: "" }],
    [`PUT ${admin}/livestreams`, 200, { body: '{"channel_id":70,"category_id":3,"viewers":5}' }],
    ...[
      "users/7",
      "users/search?query=may",
      "users?id=7",
      "users/7/consents",
      "users/batch",
      "categories/3",
      "categories/batch",
      "channels/70",
      "channels/batch",
      "channels/search",
      "ranking",
      "ranking/3",
      "catalogue",
      "livestreams",
      "livestreams/search",
    ].map((path): Call => [`GET ${admin}/${path}`, 200]),
    [`POST ${admin}/events/preview`, 200, { body: event }],
    [`POST ${admin}/events`, 202, { body: event }],
    [`POST ${admin}/events`, 202, { body: `${JSON.stringify(event)}\n{` }],
    [`POST ${admin}/events`, 202, { body: { ...event, id: "known" } }],
    [`POST ${admin}/events`, 409, { body: { ...event, id: "known", broadcaster_user_id: 9 } }],
    [`DELETE ${admin}/livestreams/70`, 204],
    [`DELETE ${admin}/channels/70`, 204],
    [`DELETE ${admin}/categories/3`, 204],
  ];
}

async function applicationCalls(): Promise<Call[]> {
  const { id } = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  const { id: doomed } = await server.application();
  const { client_id } = await server.application({ redirect_uris: [redirectUri] });
  const login = async () => {
    const challenge = await challengeFor(new Browser(server), authorizationRequest(client_id));
    return `${admin}/login-requests/${challenge}`;
  };
  const [accepted, rejected] = [await login(), await login()];
  const app = `${admin}/applications/${id}`;
  const filterTest = { type: "chat.message.sent", filter: { content: { $startsWith: "!" } } };
  const key = await made(`${admin}/keys`, { name: "reports", role: "reader" });
  return [
    [`GET ${await login()}?user_id=7`, 200],
    [`PUT ${accepted}/accept`, 200, { body: { user_id: 7 } }],
    [`PUT ${accepted}/accept`, 409, { body: { user_id: 7 } }],
    [`PUT ${rejected}/reject`, 200, { body: {} }],
    [`DELETE ${admin}/users/7/consents/${id}`, 204],
    [`DELETE ${admin}/users/7`, 204],
    [`POST ${admin}/applications`, 201, { body: { name: "Bot" } }],
    [`GET ${admin}/applications?limit=1`, 200],
    [`GET ${app}`, 200],
    [`PATCH ${app}`, 200, { body: { disabled: false } }],
    [`POST ${app}/filters/test`, 200, { body: filterTest }],
    [`POST ${app}/client-secret`, 200, { body: {} }],
    [`POST ${app}/webhook-secret`, 200, { body: { overlap_seconds: 0 } }],
    [`POST ${app}/tokens`, 201, { body: {} }],
    [`GET ${app}/tokens`, 200],
    [`DELETE ${app}/tokens/${"0".repeat(24)}`, 404],
    [`DELETE ${app}/tokens`, 200],
    [`DELETE ${admin}/applications/${doomed}`, 204],
    [`POST ${admin}/keys`, 201, { body: { name: "import", role: "publisher" } }],
    [`POST ${admin}/keys`, 409, { body: { name: "import", role: "reader" } }],
    [`GET ${admin}/keys`, 200],
    [`DELETE ${admin}/keys/${key}`, 204],
    [`DELETE ${admin}/keys/environment`, 409],
    ["GET /healthz", 200],
    ["GET /readyz", 200],
    [`GET ${admin}/findings`, 200],
  ];
}

test.skipIf(isOnPostgres)("every admin route answers as the document says", async () => {
  const parts = [async () => platformCalls(), applicationCalls, deliveryCalls, backupCalls];
  const asked: string[] = [];
  for (const calls of parts) {
    const ask = (method: string, path: string, { body, headers }: Call[2] & object) =>
      server.admin(method, path, body, headers);
    asked.push(...(await expectAsDocumented(operations, await calls(), ask, adminKey)));
  }
  expect(new Set(asked)).toEqual(new Set(operations.map(({ name }) => name)));
});
