import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { hour, minute } from "../../src/domain/time.ts";
import { createLog } from "../../src/log/log.ts";
import { StorageWatch } from "../../src/storage-watch.ts";
import type { Store } from "../../src/store/store.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/client/sender.ts";
import { DeliveryCounter } from "../../src/webhooks/counts.ts";
import { noticesOf, type ServerNoticeData } from "../../src/webhooks/notices/notice.ts";
import { createNotifier } from "../../src/webhooks/notices/notifier.ts";
import { stuckWatch } from "../../src/webhooks/notices/stuck-watch.ts";
import {
  newSigningKey,
  publicKeyForms,
  readPublicKey,
  readSigningKey,
  verify,
} from "../../src/webhooks/signature.ts";
import { StreamClient } from "../support/event-stream.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, type TestServer, testServer } from "../support/server.ts";
import { emptyStore } from "../support/store.ts";
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
    const before = receiver.received.length;
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await receiver.arrived(before + 1);
    await settled(server);
  };
  return { clock, server, operator, app, endpoint, attempt };
}

describe("an endpoint that fails, is disabled and recovers", () => {
  test("is told of to its developer on the event stream and to the operator, under one id, each once", async () => {
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
    // The same text under the same id, each verified with the secret of its reader.
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
    // And both lists have them.
    expect((await own(server, app)).map(({ id }) => id)).toEqual(ids.toReversed() as string[]);
    await until(async () => (await listed(server)).every(({ sending }) => sending.status === "delivered"));
    expect((await listed(server)).map(({ id }) => id)).toEqual(ids.toReversed() as string[]);
    const { data } = await json<{ data: { notices: { type: string }[] } }>(
      await server.get("/public/v1/application", app.token),
    );
    expect(data.notices.map(({ type }) => type)).toEqual(kinds.toReversed());
  });

  test("is read on from where the stream stopped, and by nobody else", async () => {
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
    await attempt(204).catch(() => {});
    expect(behind.events.filter(({ type }) => type === "endpoint.disabled")).toEqual([]);
    behind.close();
    expect(await own(server, other)).toEqual([]);
    expect(await listed(server, `?application_id=${other.id}`)).toEqual([]);
    expect(await listed(server, `?application_id=${app.id}`)).toHaveLength(1);
  });
});

describe("the notify URL", () => {
  test("is tried again by the schedule of deliveries, and deliveries do not notice", async () => {
    const { clock, server, operator, attempt } = await platform((number) => (number === 1 ? 503 : 204));
    await attempt(410);
    await operator.arrived(1);
    await until(async () => (await listed(server))[0]?.sending.attempts === 1);
    expect((await listed(server))[0]?.sending).toMatchObject({
      status: "pending",
      error: "The answer was 503.",
    });
    clock.advance(3_000);
    await Bun.sleep(1_500);
    expect(operator.received).toHaveLength(1);
    clock.advance(3_000);
    await operator.arrived(2);
    const [first, second] = operator.received;
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] ?? "");
    await until(async () => (await listed(server))[0]?.sending.status === "delivered");
  });

  test("gets what was not sent before a restart", async () => {
    const { store } = emptyStore();
    const notice = noticesOf(true).ofServer("backup.failed", { summary: "It failed.", advice: null }, 1_000);
    await store.notices.put(notice);
    const { sent, run } = notifierOn(store);
    await run(async () => until(() => sent.length === 1));
    await run(() => Bun.sleep(50));
    expect(sent.map(({ headers }) => headers["webhook-id"])).toEqual([notice.id]);
  });

  test("is signed by the platform's key alone where no secret is set", async () => {
    const { store } = emptyStore();
    await store.notices.put(
      noticesOf(true).ofServer("backup.failed", { summary: "It failed.", advice: null }, now()),
    );
    const { sent, run, key } = notifierOn(store);
    await run(async () => until(() => sent.length === 1));
    const { headers = {}, body = new Uint8Array() } = sent[0] ?? {};
    expect(headers["webhook-signature"]).toStartWith("v1a,");
    const publicKey = publicKeyForms(key).pem;
    expect(
      verify({
        id: headers["webhook-id"] ?? "",
        timestamp: headers["webhook-timestamp"] ?? "",
        signature: headers["webhook-signature"] ?? "",
        body,
        publicKey: readPublicKey(publicKey),
        now: now(),
      }),
    ).toBe("ok");
  });

  test("gets a notice that the storage refuses, once, and the store gets it as soon as it can", async () => {
    const { store } = emptyStore();
    let isFull = true;
    const put: Store["notices"]["put"] = (notice) =>
      isFull ? Promise.reject(new Error("full")) : store.notices.put(notice);
    const { sent, run, notifier } = notifierOn({ ...store, notices: { ...store.notices, put } });
    const data = { summary: "The disk is full.", advice: null };
    await notifier.announce(noticesOf(true).ofServer("storage.failing", data, now()));
    await run(async () => {
      await until(() => sent.length === 1);
      await Bun.sleep(500);
      isFull = false;
      await until(async () => (await store.notices.page(null, null, 10)).length === 1);
    });
    expect(sent).toHaveLength(1);
    expect((await store.notices.page(null, null, 10))[0]?.sending).toMatchObject({
      status: "delivered",
      attempts: 1,
    });
  });
});

const now = () => 1_000_000;

/** A notifier on a store, whose URL takes everything. */
function notifierOn(store: Pick<Store, "notices">) {
  const sent: SendRequest[] = [];
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const ok: SendResult = {
    class: "ok",
    status: 204,
    retryAfterMs: null,
    durationMs: 1,
    responseBody: "",
    error: null,
    timings,
    repeated: false,
  };
  const key = newSigningKey();
  const notifier = createNotifier({
    store,
    ownership: { leads: () => true },
    sender: {
      async send(request) {
        sent.push(request);
        return ok;
      },
    },
    url: "https://operator.example/notices",
    secret: null,
    signingKey: readSigningKey(key),
    log: createLog("off"),
    now,
    random: () => 0.5,
  });
  const run = async (work: () => Promise<unknown>) => {
    const stopping = new AbortController();
    const running = notifier.run(stopping.signal);
    await work();
    stopping.abort();
    await running;
  };
  return { sent, run, notifier, key };
}

describe("the storage", () => {
  test("that cannot be written, and that it can again, is announced once each", async () => {
    const told: [string, ServerNoticeData][] = [];
    let found: "full" | null = null;
    const watch = new StorageWatch(createLog("off"));
    watch.start(
      async () => found,
      (type, data) => void told.push([type, data]),
    );
    found = "full";
    watch.note("full");
    watch.note("full");
    await watch.look();
    found = null;
    await Bun.sleep(1_100);
    await watch.look();
    watch.stop();
    expect(told.map(([type, { fault }]) => [type, fault])).toEqual([
      ["storage.failing", "full"],
      ["storage.recovered", undefined],
    ]);
  });
});

describe("stuck deliveries", () => {
  test("are announced once after ten minutes without an attempt, and so is that they go on", async () => {
    let at = 0;
    const told: [string, ServerNoticeData][] = [];
    const counts = { ...new DeliveryCounter().counts, attempts: { ok: 1 } };
    let due = [{ application_id: "a", due_at: 0 }];
    const held = new Set<string>();
    const { look } = stuckWatch({
      ownership: { holds: () => true },
      store: { deliveries: { pending: async () => due } as never },
      dispatcher: {
        stats: { inFlight: 0, queued: 0, unrecorded: 0, heldUp: 0, reading: 0, counts },
        isHeldUp: (id) => held.has(id),
      },
      now: () => at,
      announce: (type, data) => void told.push([type, data]),
    });
    const pass = async (ms: number) => {
      at += ms;
      await look();
    };
    await look();
    await pass(9 * minute);
    expect(told).toEqual([]);
    // Nothing is due: it is not stuck.
    due = [];
    await pass(hour);
    // What is due belongs to an endpoint that is held up: it is not stuck.
    due = [{ application_id: "a", due_at: 0 }];
    held.add("a");
    await pass(hour);
    expect(told).toEqual([]);
    held.clear();
    await pass(11 * minute);
    await pass(hour);
    expect(told.map(([type]) => type)).toEqual(["deliveries.stuck"]);
    counts.attempts.ok++;
    await pass(minute);
    await pass(minute);
    expect(told.map(([type]) => type)).toEqual(["deliveries.stuck", "deliveries.resumed"]);
  });
});
