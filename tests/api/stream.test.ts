import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { openStream, resumeStream, streamPath } from "../support/event-stream.ts";
import { loginUrl, redirectUri, userTokens } from "../support/oauth.ts";
import { event, example, publish, subscribe, subscriptionsPath } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, refusal, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const followed = "channel.followed";
const chat = "chat.message.sent";

const server = await testServer({
  engineThread: true,
  args: ["--stream-limit", "3", "--login-url", loginUrl],
  users,
});
/** An application on the event stream, subscribed to events of broadcaster 1001. */
async function streaming(names: string[], fields: object = {}) {
  const app = await server.application({ delivery: "stream", ...fields });
  return { ...app, subscriptions: await subscribe(server, app, names) };
}
const app = await streaming([followed, chat]);
const open = (token = app.token) => openStream(server, token, [followed, chat]);

test("an event arrives with the headers and body of a webhook, verified by the standardwebhooks library", async () => {
  const client = await open();
  const published = await publish(server, event(followed));
  const [first] = await client.arrived(1);
  if (!first) throw new Error("nothing arrived");
  const { headers, body } = first.data;
  expect(first.type).toBe(followed);
  expect(JSON.parse(body)).toEqual({
    type: followed,
    version: 1,
    timestamp: expect.stringMatching(/Z$/),
    data: example(followed),
  });
  expect(headers).toMatchObject({
    "onair-event-type": followed,
    "onair-event-version": "1",
    "onair-event-id": published.body["id"],
    "onair-sequence": "1",
    "onair-attempt": "1",
  });
  expect(new Webhook(app.webhook_secret).verify(body, headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(app.webhook_secret).verify(`${body} `, headers)).toThrow();
});

test("it comes about as soon as its publishing is answered: nothing waits for a poll", async () => {
  const client = await open();
  const times: { readonly answer: number; readonly arrival: number }[] = [];
  for (let i = 1; i <= 20; i++) {
    const at = performance.now();
    await publish(server, event(followed));
    const answer = performance.now() - at;
    await client.arrived(i);
    times.push({ answer, arrival: performance.now() - at });
  }
  const median = (of: "answer" | "arrival") => times.map((time) => time[of]).sort((a, b) => a - b)[10] ?? 0;
  // How long an answer takes tells how busy the machine is.
  expect(median("arrival")).toBeLessThan(50 + 2 * median("answer"));
});

test("an application gets no events of another one, and cannot go on at the position of another one", async () => {
  const other = await streaming([chat]);
  const [mine, theirs] = [await open(), await open(other.token)];
  await publish(server, event(followed));
  await publish(server, event(chat));
  const got = await theirs.arrived(1);
  const [, last] = await mine.arrived(2);
  expect(got.map(({ type }) => type)).toEqual([chat]);
  const headers = { "last-event-id": last?.id ?? "" };
  const answer = await server.get(streamPath, other.token, { headers });
  expect(answer.status).toBe(400);
  expect(await json(answer)).toMatchObject({
    code: "invalid_cursor",
    errors: [{ in: "header", field: "Last-Event-ID" }],
  });
});

test("with the token of a user, only events of subscriptions for that user arrive", async () => {
  const one = await streaming([followed], { redirect_uris: [redirectUri] });
  await subscribe(server, one, [followed], 1002);
  const { access_token } = await userTokens(server, one, { userId: 1002 });
  const client = await open(access_token);
  await publish(server, event(followed));
  await publish(server, event(followed, { broadcaster_user_id: 1002, id: "theirs" }));
  const [first] = await client.arrived(1);
  expect(first?.data.headers["onair-event-id"]).toBe("theirs");
});

test("a stream beyond the limit of the application is refused, until one is closed", async () => {
  const one = await streaming([chat]);
  const [first] = await Promise.all([open(one.token), open(one.token), open(one.token)]);
  const refused = await server.get(streamPath, one.token);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect(await json(refused)).toMatchObject({
    code: "rate_limited",
    message: "This application has 3 event streams open, which is the maximum; close one first",
  });
  await open();
  first?.close();
  await until(async () => {
    const answer = await server.get(streamPath, one.token);
    await answer.body?.cancel();
    return answer.status === 200;
  });
});

test("HEAD answers without holding a stream open", async () => {
  for (let i = 0; i < 5; i++) {
    const answer = await server.get(streamPath, app.token, { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  }
});

test("the end of its token ends a stream, and nothing more is sent on it", async () => {
  const gone = await streaming([followed]);
  const client = await open(gone.token);
  const revoked = await server.admin("DELETE", `/admin/v1/applications/${gone.id}/tokens`);
  expect(revoked.status).toBe(200);
  await publish(server, event(followed));
  // Ended, it connects again as clients do, and is refused.
  await client.until(({ errors }) => errors.includes(401));
  expect(client.events).toEqual([]);
});

test("events of a deleted subscription are not sent", async () => {
  const one = await streaming([chat, followed]);
  const [kept = "", deleted = ""] = one.subscriptions;
  const client = await open(one.token);
  await publish(server, event(chat));
  const [first] = await client.arrived(1);
  client.close();
  await publish(server, event(followed));
  await publish(server, event(chat));
  await server.get(`${subscriptionsPath}?id=${deleted}`, one.token, { method: "DELETE" });
  const [second] = await resumeStream(server, one.token, [followed, chat], first?.id).arrived(1);
  expect(second?.data.headers["onair-subscription-id"]).toBe(kept);
});

test("refused are times that are none, and ids that are none, by their name", async () => {
  for (const after of ["now", "2026-02-30T00:00:00Z", "1768406886"]) {
    const answer = server.get(`${streamPath}?after=${after}`, app.token);
    expect([after, ...(await refusal(answer))]).toEqual([after, 400, "invalid_parameter"]);
  }
  for (const id of ["x", "AAAAAAAAAAAAAAAAAAAAAA", "%00", "1", "A".repeat(23)]) {
    const headers = { "last-event-id": id };
    expect(await refusal(server.get(streamPath, app.token, { headers }))).toEqual([400, "invalid_cursor"]);
    const inQuery = await server.get(`${streamPath}?lastEventId=${encodeURIComponent(id)}`, app.token);
    expect(await json<object>(inQuery)).toMatchObject({
      code: "invalid_cursor",
      errors: [{ in: "query", field: "lastEventId" }],
    });
  }
});
