import { test } from "bun:test";
import { backupsPath, madeBackup } from "../support/backups.ts";
import { authorizationRequest, Browser, challengeFor, loginUrl, redirectUri } from "../support/oauth.ts";
import { documentOf, expectAllOperations, expectAsDocumented } from "../support/openapi.ts";
import { publish, event as sample, settled, subscribe } from "../support/publishing.ts";
import { adminKey, isOnPostgres, testServer } from "../support/server.ts";

const server = await testServer({ engineThread: true, args: ["--login-url", loginUrl] });
const document = await documentOf(server.adminUrl);

/** Of an application to which something was sent. */
async function deliveryCalls(): Promise<AdminCall[]> {
  await server.load("users", [{ id: 77, username: "mona" }]);
  const application = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  await subscribe(server, application, ["kicks.gifted"], 77);
  await publish(server, { ...sample("kicks.gifted"), broadcaster_user_id: 77 });
  await settled(server);
  const list = await server.admin("GET", "/admin/v1/deliveries");
  const delivery = ((await list.json()) as { data: { id: string }[] }).data[0]?.id;
  const range = { from: "2026-01-14T16:00:00Z", to: "2026-01-14T17:00:00Z" };
  const asked = { application_id: application.id, ...range };
  const made = await server.admin("POST", "/admin/v1/replays", asked);
  const { id: replay } = (await made.json()) as { id: string };
  const { id: unreachable } = await server.application();
  const [deliveries, replays, enable] = [
    "/admin/v1/deliveries",
    "/admin/v1/replays",
    "POST /admin/v1/applications/{id}/endpoint/enable",
  ];
  return [
    [`GET ${deliveries}`, 200, `${deliveries}?application_id=${application.id}`],
    [`GET ${deliveries}`, 200, deliveries],
    [`GET ${deliveries}`, 400, `${deliveries}?application_id=x`],
    [`GET ${deliveries}`, 400, `${deliveries}?cursor=x`],
    [`GET ${deliveries}/hold`, 200, `${deliveries}/hold`],
    [`DELETE ${deliveries}/hold`, 204, `${deliveries}/hold`],
    [`GET ${deliveries}/{id}`, 200, `${deliveries}/${delivery}`],
    [`GET ${deliveries}/{id}`, 404, `${deliveries}/x`],
    [`POST ${deliveries}/{id}/retry`, 202, `${deliveries}/${delivery}/retry`],
    [`POST ${deliveries}/{id}/retry`, 404, `${deliveries}/x/retry`],
    [`POST ${replays}`, 202, replays, { ...asked, dry_run: true }],
    [`POST ${replays}`, 400, replays, range],
    [`POST ${replays}`, 409, replays, { ...asked, application_id: unreachable }],
    [`GET ${replays}`, 200, replays],
    [`GET ${replays}/{id}`, 200, `${replays}/${replay}`],
    [`GET ${replays}/{id}`, 404, `${replays}/x`],
    [`DELETE ${replays}/{id}`, 204, `${replays}/${replay}`],
    ["GET /admin/v1/endpoints", 200, "/admin/v1/endpoints"],
    ["GET /admin/v1/endpoints", 400, "/admin/v1/endpoints?cursor=x"],
    ["GET /admin/v1/outcomes", 200, "/admin/v1/outcomes"],
    ["GET /admin/v1/outcomes", 400, "/admin/v1/outcomes?application_id=x"],
    ["GET /admin/v1/statistics", 200, "/admin/v1/statistics"],
    ["GET /admin/v1/statistics", 200, `/admin/v1/statistics?range=week&application_id=${application.id}`],
    ["GET /admin/v1/statistics", 400, "/admin/v1/statistics?range=year"],
    ["GET /admin/v1/storage", 200, "/admin/v1/storage"],
    ["GET /admin/v1/backlog", 200, "/admin/v1/backlog"],
    ["GET /admin/v1/settings", 200, "/admin/v1/settings"],
    ["GET /admin/v1/subscriptions", 200, `/admin/v1/subscriptions?application_id=${application.id}`],
    ["GET /admin/v1/subscriptions", 400, "/admin/v1/subscriptions?cursor=x&broadcaster_user_id=0"],
    ["GET /admin/v1/applications/{id}/usage", 200, `/admin/v1/applications/${application.id}/usage`],
    ["GET /admin/v1/applications/{id}/usage", 404, "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/usage"],
    ["GET /admin/v1/audit", 200, "/admin/v1/audit"],
    ["GET /admin/v1/audit", 400, "/admin/v1/audit?after=yesterday"],
    ["GET /admin/v1/notices", 200, "/admin/v1/notices"],
    ["GET /admin/v1/notices", 400, "/admin/v1/notices?application_id=x"],
    ["GET /admin/v1/notices", 400, "/admin/v1/notices?cursor=x"],
    ["GET /admin/v1/applications/{id}/endpoint", 200, `/admin/v1/applications/${application.id}/endpoint`],
    [
      "GET /admin/v1/applications/{id}/endpoint",
      404,
      "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/endpoint",
    ],
    [enable, 200, `/admin/v1/applications/${application.id}/endpoint/enable`],
    [enable, 404, "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H/endpoint/enable"],
  ];
}

/** Of a backup that is done; a second one runs meanwhile. */
async function backupCalls(): Promise<AdminCall[]> {
  const { id, size_bytes } = await madeBackup(server);
  const [one, content] = [`GET ${backupsPath}/{id}`, `GET ${backupsPath}/{id}/content`];
  const path = `${backupsPath}/${id}`;
  return [
    [`POST ${backupsPath}`, 202, backupsPath],
    [`POST ${backupsPath}`, 409, backupsPath],
    [`GET ${backupsPath}`, 200, backupsPath],
    [`GET ${backupsPath}`, 400, `${backupsPath}?cursor=x`],
    [one, 200, path],
    [one, 404, `${backupsPath}/x`],
    [content, 200, `${path}/content`],
    [content, 206, `${path}/content`, undefined, { range: "bytes=0-15" }],
    [content, 416, `${path}/content`, undefined, { range: `bytes=${size_bytes}-` }],
    [content, 404, `${backupsPath}/x/content`],
    [`DELETE ${backupsPath}/{id}`, 204, path],
    [`DELETE ${backupsPath}/{id}`, 404, path],
  ];
}

/** `GET /path 200`, the address, and what is sent; the first call of each operation comes before those that need it. */
type AdminCall = readonly [
  operation: string,
  status: number,
  address: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
];

async function calls(): Promise<AdminCall[]> {
  const { id } = await server.application({ webhook_url: "http://127.0.0.1:9/hook" });
  const { id: doomed } = await server.application();
  const { client_id } = await server.application({ redirect_uris: [redirectUri] });
  const login = async (rest = "") => {
    const challenge = await challengeFor(new Browser(server), authorizationRequest(client_id));
    return `/admin/v1/login-requests/${challenge}${rest}`;
  };
  const loginOf = (rest = "") => `/admin/v1/login-requests/{challenge}${rest}`;
  const [accepted, rejected] = [await login("/accept"), await login("/reject")];
  const app = (rest = "") => `/admin/v1/applications/${id}${rest}`;
  const none = "/admin/v1/applications/01KATHZX5M9S3E6R8B2D4F7G1H";
  const of = (rest = "") => `/admin/v1/applications/{id}${rest}`;
  const event = sample("channel.followed", { broadcaster_user_id: 7 });
  const raffle = { version: 1, schema: { type: "object" }, example: { winner: "maya" } };
  const type = "/admin/v1/event-types/raffle.won";
  const filterTest = { type: "chat.message.sent", filter: { content: { $startsWith: "!" } } };
  const keys = "/admin/v1/keys";
  const made = await server.admin("POST", keys, { name: "reports", role: "reader" });
  const { id: key } = (await made.json()) as { id: string };
  return [
    [`POST ${of("/filters/test")}`, 200, app("/filters/test"), filterTest],
    [`POST ${of("/filters/test")}`, 400, app("/filters/test"), { type: "no.such.event" }],
    [`POST ${of("/filters/test")}`, 404, `${none}/filters/test`, filterTest],
    ["PUT /admin/v1/event-types/{name}", 200, type, raffle],
    ["PUT /admin/v1/event-types/{name}", 400, type, { ...raffle, schema: {} }],
    ["PUT /admin/v1/event-types/{name}", 409, type, { ...raffle, schema: { type: "object", title: "x" } }],
    ["GET /admin/v1/event-types", 200, "/admin/v1/event-types"],
    ["DELETE /admin/v1/event-types/{name}", 400, type],
    ["DELETE /admin/v1/event-types/{name}", 404, `${type}?version=2`],
    ["DELETE /admin/v1/event-types/{name}", 409, "/admin/v1/event-types/channel.followed?version=1"],
    ["DELETE /admin/v1/event-types/{name}", 204, `${type}?version=1`],
    ["PUT /admin/v1/users/{id}", 200, "/admin/v1/users/7", { username: "maya" }],
    ["PUT /admin/v1/users/{id}", 400, "/admin/v1/users/7", {}],
    ["PUT /admin/v1/users/{id}", 409, "/admin/v1/users/8", { username: "maya" }],
    ["GET /admin/v1/users/{id}", 200, "/admin/v1/users/7"],
    ["GET /admin/v1/users/{id}", 404, "/admin/v1/users/8"],
    ["GET /admin/v1/users/search", 200, "/admin/v1/users/search?query=may"],
    ["GET /admin/v1/users/search", 400, "/admin/v1/users/search?query="],
    ["GET /admin/v1/users", 200, "/admin/v1/users?id=7"],
    ["GET /admin/v1/users", 400, "/admin/v1/users"],
    ["GET /admin/v1/users/{id}/consents", 200, "/admin/v1/users/7/consents"],
    ["GET /admin/v1/users/{id}/consents", 404, "/admin/v1/users/8/consents"],
    [`GET ${loginOf()}`, 200, await login("?user_id=7")],
    [`GET ${loginOf()}`, 404, "/admin/v1/login-requests/x"],
    [`PUT ${loginOf("/accept")}`, 400, accepted, {}],
    [`PUT ${loginOf("/accept")}`, 200, accepted, { user_id: 7 }],
    [`PUT ${loginOf("/accept")}`, 409, accepted, { user_id: 7 }],
    [`PUT ${loginOf("/reject")}`, 200, rejected, {}],
    [`DELETE /admin/v1/users/{id}/consents/{application_id}`, 204, `/admin/v1/users/7/consents/${id}`],
    ["POST /admin/v1/users/batch", 200, "/admin/v1/users/batch", '{"id":9,"username":"nine"}\n{'],
    ["POST /admin/v1/users/batch", 400, "/admin/v1/users/batch?atomic=x", "{}"],
    ["GET /admin/v1/users/batch", 200, "/admin/v1/users/batch"],
    [
      "PUT /admin/v1/categories/{id}",
      200,
      "/admin/v1/categories/3",
      { name: "Chess", slug: "chess", tags: ["Calm"] },
    ],
    ["GET /admin/v1/categories/{id}", 200, "/admin/v1/categories/3"],
    ["GET /admin/v1/categories/{id}", 404, "/admin/v1/categories/4"],
    ["POST /admin/v1/categories/batch", 200, "/admin/v1/categories/batch", "{}"],
    ["GET /admin/v1/categories/batch", 200, "/admin/v1/categories/batch"],
    ["PUT /admin/v1/channels/{id}", 200, "/admin/v1/channels/70", { user_id: 7, slug: "maya" }],
    ["GET /admin/v1/channels/{id}", 200, "/admin/v1/channels/70"],
    ["GET /admin/v1/channels/{id}", 404, "/admin/v1/channels/71"],
    ["GET /admin/v1/ranking", 200, "/admin/v1/ranking"],
    ["GET /admin/v1/ranking/{id}", 200, "/admin/v1/ranking/3"],
    ["GET /admin/v1/ranking/{id}", 404, "/admin/v1/ranking/4"],
    ["GET /admin/v1/catalogue", 200, "/admin/v1/catalogue"],
    ["POST /admin/v1/channels/batch", 200, "/admin/v1/channels/batch", ""],
    ["GET /admin/v1/channels/batch", 200, "/admin/v1/channels/batch"],
    [
      "PUT /admin/v1/livestreams",
      200,
      "/admin/v1/livestreams",
      '{"channel_id":70,"category_id":3,"viewers":5}',
    ],
    ["GET /admin/v1/livestreams", 200, "/admin/v1/livestreams"],
    ["POST /admin/v1/events/preview", 200, "/admin/v1/events/preview", event],
    ["POST /admin/v1/events/preview", 400, "/admin/v1/events/preview", {}],
    ["GET /admin/v1/channels/search", 200, "/admin/v1/channels/search"],
    ["GET /admin/v1/livestreams/search", 200, "/admin/v1/livestreams/search"],
    ["POST /admin/v1/events", 202, "/admin/v1/events", event],
    ["POST /admin/v1/events", 202, "/admin/v1/events", `${JSON.stringify(event)}\n{`],
    ["POST /admin/v1/events", 202, "/admin/v1/events", { ...event, id: "known" }],
    ["POST /admin/v1/events", 409, "/admin/v1/events", { ...event, id: "known", broadcaster_user_id: 9 }],
    ["POST /admin/v1/applications", 201, "/admin/v1/applications", { name: "Bot" }],
    ["POST /admin/v1/applications", 400, "/admin/v1/applications", {}],
    ["GET /admin/v1/applications", 200, "/admin/v1/applications?limit=1"],
    ["GET /admin/v1/applications", 400, "/admin/v1/applications?cursor=x"],
    ["GET /admin/v1/applications/{id}", 200, app()],
    ["GET /admin/v1/applications/{id}", 404, none],
    ["PATCH /admin/v1/applications/{id}", 200, app(), { disabled: false }],
    [`POST ${of("/client-secret")}`, 200, app("/client-secret"), {}],
    [`POST ${of("/webhook-secret")}`, 200, app("/webhook-secret"), { overlap_seconds: 0 }],
    [`POST ${of("/tokens")}`, 201, app("/tokens"), {}],
    [`GET ${of("/tokens")}`, 200, app("/tokens")],
    [`DELETE ${of("/tokens/{token_id}")}`, 404, app(`/tokens/${"0".repeat(24)}`)],
    [`DELETE ${of("/tokens")}`, 200, app("/tokens")],
    ["DELETE /admin/v1/applications/{id}", 204, `/admin/v1/applications/${doomed}`],
    ["DELETE /admin/v1/livestreams/{channel_id}", 204, "/admin/v1/livestreams/70"],
    ["DELETE /admin/v1/channels/{id}", 204, "/admin/v1/channels/70"],
    ["DELETE /admin/v1/categories/{id}", 204, "/admin/v1/categories/3"],
    ["DELETE /admin/v1/users/{id}", 204, "/admin/v1/users/7"],
    ["POST /admin/v1/keys", 201, keys, { name: "import", role: "publisher" }],
    ["POST /admin/v1/keys", 400, keys, { name: "import" }],
    ["POST /admin/v1/keys", 409, keys, { name: "import", role: "reader" }],
    ["GET /admin/v1/keys", 200, keys],
    ["DELETE /admin/v1/keys/{id}", 204, `${keys}/${key}`],
    ["DELETE /admin/v1/keys/{id}", 404, `${keys}/${key}`],
    ["DELETE /admin/v1/keys/{id}", 409, `${keys}/environment`],
    ["GET /admin/v1/findings", 200, "/admin/v1/findings"],
    ["GET /healthz", 200, "/healthz"],
    ["GET /readyz", 200, "/readyz"],
  ];
}

test.skipIf(isOnPostgres)("every admin route answers as the document says", async () => {
  const all = [...(await calls()), ...(await deliveryCalls()), ...(await backupCalls())];
  const asked = all.map(([operation, status, path, body, headers]) => ({
    operation,
    status,
    path,
    body,
    headers,
  }));
  expectAllOperations(document, asked);
  const ask = ({ operation, path, body, headers }: (typeof asked)[number]) =>
    server.admin(operation.split(" ")[0] ?? "", path, body, headers);
  await expectAsDocumented(document, asked, ask, adminKey);
});
