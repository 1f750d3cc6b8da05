import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { minute } from "../../src/domain/time.ts";
import { StreamClient } from "../support/event-stream.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, type TestServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const types = ["endpoint.failing", "endpoint.disabled", "endpoint.recovered", "channel.followed"];

interface NoticeAnswer {
  id: string;
  type: string;
  app_id: string | null;
  summary: string;
  sending: { status: string; attempts: number; error: string | null };
}

interface Body {
  type: string;
  version: number;
  timestamp: string;
  data: { summary: string; advice: string | null; application_id?: string };
}

const bodyOf = ({ body }: { body: string }) => JSON.parse(body) as Body;

const listed = async (server: TestServer, query = ""): Promise<NoticeAnswer[]> =>
  (await json<{ data: NoticeAnswer[] }>(await server.admin("GET", `/admin/v1/notices${query}`))).data;

const own = async (server: TestServer, app: TestApplication) =>
  (
    await json<{ data: { id: string; type: string; data: { summary: string } }[] }>(
      await server.get("/public/v1/application/notices", app.token),
    )
  ).data;

/** A server, the operator's receiver, and an application whose endpoint answers as `status` says. */
async function platform(notified: (number: number) => number = () => 204) {
  const operator = testReceiver((_, number) => new Response(null, { status: notified(number) }));
  const clock = new Clock();
  const server = await testServer({
    clock,
    args: ["--notify-url", operator.url],
    env: { ONAIR_NOTIFY_SECRET: secret },
  });
  await server.load("users", users);
  const endpoint = { status: 500 };
  const receiver = testReceiver(() => new Response(null, { status: endpoint.status }));
  const app = await server.application({ delivery: "both", webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  const attempt = async (status: number) => {
    endpoint.status = status;
    await receiver.next(() => publish(server, event("channel.followed")));
    await settled(server);
  };
  return { clock, server, operator, receiver, app, endpoint, attempt };
}

describe("an endpoint that fails, is disabled and recovers", () => {
  test("is reported to its developer on the event stream and to the operator, each once, under one id", async () => {
    const { clock, server, operator, app, endpoint, attempt } = await platform();
    const stream = new StreamClient(server, app.token, types);
    await stream.connected();
    await attempt(500);
    expect(await listed(server)).toEqual([]);
    clock.advance(31 * minute);
    await attempt(500);
    await attempt(500);
    await attempt(410);
    // Retries go out as soon as it is enabled.
    endpoint.status = 204;
    expect(
      (await server.get("/public/v1/application/endpoint/enable", app.token, { method: "POST" })).status,
    ).toBe(200);
    await attempt(204);
    await operator.arrived(3);
    const isNotice = ({ type }: { type: string }) => type.startsWith("endpoint.");
    await stream.until(({ events }) => events.filter(isNotice).length === 3);
    stream.close();

    const kinds = ["endpoint.failing", "endpoint.disabled", "endpoint.recovered"];
    expect(operator.received.map((one) => bodyOf(one).type)).toEqual(kinds);
    const streamed = stream.events.filter(isNotice).map(({ type, data }) => {
      const { headers, body } = data as { headers: Record<string, string>; body: string };
      return { type, headers, body };
    });
    expect(streamed.map(({ type }) => type)).toEqual(kinds);
    // The same text under the same id, each signed with the secret of its reader.
    const ids = operator.received.map(({ headers }) => headers["webhook-id"]);
    expect(streamed.map(({ headers }) => headers["webhook-id"])).toEqual(ids);
    expect(streamed.map(({ body }) => body)).toEqual(operator.received.map(({ body }) => body));
    for (const { headers, body } of streamed) {
      const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
      const expected = new Webhook(app.webhook_secret).sign(headers["webhook-id"] ?? "", at, body);
      expect(headers["webhook-signature"]?.split(" ")[0]).toBe(expected);
      expect(Object.keys(headers)).not.toContain("onair-subscription-id");
    }
    for (const { headers, body } of operator.received) {
      const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
      const expected = new Webhook(secret).sign(headers["webhook-id"] ?? "", at, body);
      expect(headers["webhook-signature"]?.split(" ")[0]).toBe(expected);
    }
    expect((await own(server, app)).map(({ id }) => id)).toEqual(ids.toReversed() as string[]);
    await until(async () => (await listed(server)).every(({ sending }) => sending.status === "delivered"));
    expect((await listed(server)).map(({ id }) => id)).toEqual(ids.toReversed() as string[]);
    const { data } = await json<{ data: { notices: { type: string }[] } }>(
      await server.get("/public/v1/application", app.token),
    );
    expect(data.notices.map(({ type }) => type)).toEqual(kinds.toReversed());
  });

  test("is reported where the stream goes on after a pause, and to no other application", async () => {
    const { server, operator, app, attempt } = await platform();
    const other = await server.application({ delivery: "both" });
    const stream = new StreamClient(server, app.token, types);
    await stream.connected();
    await attempt(204);
    const [first] = await stream.arrived(1);
    stream.close();
    await attempt(410);
    await operator.arrived(1);
    const again = new StreamClient(server, app.token, types, first?.id);
    await again.until(({ events }) => events.some(({ type }) => type === "endpoint.disabled"));
    again.close();
    const behind = new StreamClient(server, app.token, types, again.events.at(-1)?.id);
    await behind.connected();
    await publish(server, event("channel.followed"));
    await behind.until(({ events }) => events.some(({ type }) => type === "channel.followed"));
    expect(behind.events.filter(({ type }) => type === "endpoint.disabled")).toEqual([]);
    behind.close();
    expect(await own(server, other)).toEqual([]);
    expect(await listed(server, `?application_id=${other.id}`)).toEqual([]);
    expect(await listed(server, `?application_id=${app.id}`)).toHaveLength(1);
  });
});

describe("the notify URL", () => {
  test("is tried again by the schedule of deliveries", async () => {
    const { clock, server, operator, receiver, attempt } = await platform((number) =>
      number === 1 ? 503 : 204,
    );
    await attempt(410);
    await operator.arrived(1);
    await until(async () => (await listed(server))[0]?.sending.attempts === 1);
    expect((await listed(server))[0]?.sending).toMatchObject({
      status: "pending",
      error: "The answer was 503.",
    });
    clock.advance(3_000);
    // A notice of another endpoint is sent, and the first one is not due yet.
    await subscribe(server, await server.application({ webhook_url: receiver.url }), ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await operator.arrived(2);
    clock.advance(3_000);
    await operator.arrived(3);
    const [first, other, again] = operator.received.map(({ headers }) => headers["webhook-id"]);
    expect(again).toBe(first ?? "");
    expect(other).not.toBe(first ?? "");
    await until(async () => (await listed(server)).every(({ sending }) => sending.status === "delivered"));
  });
});
