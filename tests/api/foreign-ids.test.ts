import { beforeAll, expect, test } from "bun:test";
import { redirectUri, signInServer } from "../support/oauth.ts";
import { documentOf, type OpenApiDocument, type OperationObject, operations } from "../support/openapi.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, type TestApplication } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * Every operation of the public API that takes a token, with everything that belongs to somebody else put wherever an
 * id may stand: nothing of it is shown, and nothing of it changes.
 */

const followed = "channel.followed";
const { server, userTokens } = await signInServer();
// No retry is due while the test runs: it would change the state that is compared.
const receiver = testReceiver(() => new Response(null, { status: 500, headers: { "retry-after": "3600" } }));

let document: OpenApiDocument;
let other: TestApplication;
/** What belongs to the other application, of user 1002. */
let theirs: Readonly<Record<"subscription" | "delivery" | "replay" | "cursor" | "position", string>>;
let callers: Readonly<Record<string, string>>;

const newApp = () =>
  server.application({ webhook_url: receiver.url, delivery: "both", redirect_uris: [redirectUri] });
const read = async (path: string, token: string) => (await server.get(path, token)).text();

/** An application with a subscription, deliveries and a replay of user 1002; and the token of another of its users. */
async function inUse() {
  const app = await newApp();
  const [subscription = ""] = await subscribe(server, app, [followed], 1002);
  const seen = await server.get("/public/v1/events/stream", app.token);
  for (const _ of [1, 2]) await publish(server, event(followed, { broadcaster_user_id: 1002 }));
  let streamed = "";
  const reader = (seen.body as ReadableStream<Uint8Array>).getReader();
  while (!streamed.includes("\nid: ")) streamed += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  const path = "/public/v1/events/deliveries?limit=1";
  const page = await json<{ data: { id: string }[]; pagination: { cursor: string } }>(
    await server.get(path, app.token),
  );
  const range = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" };
  const replay = await json<{ data: { id: string } }>(
    await server.post("/public/v1/events/replays", { ...range, dry_run: true }, app.token),
  );
  return {
    app,
    user: (await userTokens(app)).access_token,
    has: {
      subscription,
      delivery: page.data[0]?.id ?? "",
      replay: replay.data.id,
      cursor: page.pagination.cursor,
      position: /\nid: (\S+)/.exec(streamed)?.[1] ?? "",
    },
  };
}

beforeAll(async () => {
  document = await documentOf(server.publicUrl);
  const [mine, their] = [await inUse(), await inUse()];
  const ofTheirUser = await userTokens(mine.app, { userId: 1002 });
  other = their.app;
  theirs = their.has;
  callers = {
    "another application": mine.app.token,
    "a user of another application": mine.user,
    "the same user by another application": ofTheirUser.access_token,
    "another user of the application": their.user,
  };
  const failures = async () => (await read("/public/v1/application", other.token)).includes('"failures":2,');
  await until(async () => (await theirDelivery()).includes('"status":500') && (await failures()));
});

const theirDelivery = () => read(`/public/v1/events/deliveries/${theirs.delivery}`, other.token);

/** All that must stay as it is, as its owner sees it. */
const state = async () => [
  await theirDelivery(),
  await read(`/public/v1/events/subscriptions/${theirs.subscription}`, other.token),
  await read(`/public/v1/events/replays/${theirs.replay}`, other.token),
  (await read("/public/v1/application", other.token)).replace(/"used":\d+|"remaining":\d+/g, ""),
];

/** Requests to an operation with what is somebody else's in one place each. */
function* requests(name: string, { parameters = [], requestBody }: OperationObject) {
  const [method = "", path = ""] = name.split(" ");
  const { subscription, delivery, replay, cursor, position } = theirs;
  const ids = [subscription, delivery, replay];
  const paths = path.includes("{") ? ids.map((id) => path.replace(/\{[a-z_]+\}/, id)) : [path];
  const content = requestBody?.content["application/json"];
  const example = Object.values(content?.examples ?? {})[0]?.value ?? content?.example ?? {};
  const range = { from: "2020-01-01T00:00:00Z", to: "2020-01-31T00:00:00Z" };
  const bodies = requestBody ? [example, { ...range, subscription_id: subscription }] : [undefined];
  const named = parameters.filter((one) => one.in === "query").map((one) => one.name);
  const queries = named.flatMap((one) =>
    (one === "cursor" ? [cursor] : one.endsWith("id") ? ids : []).map((id) => `?${one}=${id}`),
  );
  for (const at of paths)
    for (const query of ["", ...queries])
      for (const body of bodies)
        yield { method, path: at + query, body, headers: { "last-event-id": position } };
}

test("rows of another application are neither shown nor changed, wherever their id is given", async () => {
  const before = await state();
  const sent = receiver.received.length;
  const { position, ...shown } = theirs;
  const secrets = [...Object.values(shown), other.webhook_secret, other.client_secret];
  const tried = new Set<string>();
  for (const { name, operation } of operations(document)) {
    if (!operation.security.some((one) => Object.keys(one).length > 0) || name.includes("/oauth/")) continue;
    for (const [who, token] of Object.entries(callers)) {
      for (const { method, path, body, headers } of requests(name, operation)) {
        const type = body === undefined ? {} : { "content-type": "application/json" };
        const answer = await server.get(path, token, {
          method,
          headers: { ...headers, ...type },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const isStream = answer.headers.get("content-type") === "text/event-stream";
        const isEndless = isStream && !path.endsWith("/test/stream");
        const text = isEndless ? "" : await answer.text();
        if (isEndless) await answer.body?.cancel();
        const found = secrets.filter((one) => text.includes(one));
        expect([who, method, path, answer.status < 500, found]).toEqual([who, method, path, true, []]);
        if (path.endsWith("/events/stream")) expect([who, answer.status]).toEqual([who, 400]);
        tried.add(name);
      }
    }
  }
  expect(tried.size).toBeGreaterThan(20);
  expect(await state()).toEqual(before);
  const toThem = receiver.received
    .slice(sent)
    .filter(({ headers }) => headers["onair-subscription-id"] === theirs.subscription);
  expect(toThem).toEqual([]);
});
