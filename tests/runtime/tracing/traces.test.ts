import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { readTraceparent } from "../../../src/runtime/tracing.ts";
import { type CollectedSpan, ownCollector } from "../../support/collector.ts";
import { keptLog } from "../../support/log.ts";
import { metric, metricsText } from "../../support/metrics.ts";
import { event, publish, publishAll, settled, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { type Answer, ownReceiver } from "../../support/receiver.ts";
import { ownServer, type TestServer } from "../../support/server.ts";
import { newEvent } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const callerId = "b7ad6b7169203331";
const given = (flags = "01") => ({ traceparent: `00-${traceId}-${callerId}-${flags}` });

/** A server that exports to a collector, with an application that subscribes to follows. */
async function traced({ answer, args = [] }: { answer?: Answer; args?: readonly string[] } = {}) {
  const collector = ownCollector();
  const kept = keptLog();
  const server = await ownServer({
    engineThread: true,
    users,
    log: kept.log,
    args: ["--otlp-endpoint", collector.url, ...args],
  });
  const receiver = ownReceiver(answer);
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  return { collector, kept, server, receiver, app };
}

const send = (server: TestServer, body: object, headers: Record<string, string> = {}) =>
  server.admin("POST", "/admin/v1/events", body, headers);
const isOf = (name: string) => (span: CollectedSpan) => span.name === name;

test("a request, its event and each attempt are one trace, whose id is sent to the receiver", async () => {
  const { collector, kept, server, receiver, app } = await traced({
    answer: (_, number) => new Response(null, { status: number === 1 ? 500 : 204 }),
    args: ["--log-level", "info"],
  });
  const answered = await send(server, event("channel.followed", { id: "e-1" }), {
    ...given(),
    "x-request-id": "traced",
  });
  expect(answered.status).toBe(202);
  // Before another request replaces it as the exemplar of its bucket.
  const exemplars = () => metricsText(server, { accept: "application/openmetrics-text" });
  expect(await exemplars()).toContain(`{request_id="traced",trace_id="${traceId}"}`);
  const [first] = await receiver.arrived(1);
  const id = first?.headers["webhook-id"] ?? "";
  await settled(server);
  expect((await server.admin("POST", `/admin/v1/deliveries/${id}/retry`)).status).toBeLessThan(300);
  const [, second] = await receiver.arrived(2);

  const isInTrace = (span: CollectedSpan) => span.traceId === traceId;
  const request = await collector.span((span) => isInTrace(span) && span.kind === 2);
  const publishing = await collector.span(isOf("publish channel.followed"));
  const failed = await collector.span((span) => span.attributes["onair.attempt"] === 1);
  const done = await collector.span((span) => span.attributes["onair.attempt"] === 2);
  expect(request).toMatchObject({
    name: "POST publishEvents",
    parentSpanId: callerId,
    attributes: {
      "http.response.status_code": 202,
      "url.path": "/admin/v1/events",
      "url.scheme": "http",
      "onair.request_id": "traced",
    },
  });
  expect(publishing).toMatchObject({
    traceId,
    kind: 4,
    parentSpanId: request.spanId,
    attributes: { "onair.event_id": "e-1", "onair.deliveries": 1 },
  });
  const about = {
    "onair.delivery_id": id,
    "onair.application_id": app.id,
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(receiver.url).port),
  };
  expect(failed).toMatchObject({
    traceId,
    kind: 3,
    name: "deliver channel.followed",
    parentSpanId: publishing.spanId,
    status: { code: 2 },
    attributes: {
      ...about,
      "onair.outcome": "status",
      "http.response.status_code": 500,
      "error.type": "500",
    },
  });
  expect(done).toMatchObject({
    traceId,
    parentSpanId: publishing.spanId,
    attributes: { "onair.outcome": "ok" },
  });
  expect(done).not.toHaveProperty("status");
  expect(done.attributes).not.toHaveProperty(["error.type"]);
  expect(first?.headers["traceparent"]).toBe(`00-${traceId}-${failed.spanId}-01`);
  expect(second?.headers["traceparent"]).toBe(`00-${traceId}-${done.spanId}-01`);

  // The signature is still valid, and retries have the same bytes.
  expect(second?.body).toBe(first?.body ?? "");
  const verified = new Webhook(app.webhook_secret).verify(first?.body ?? "", first?.headers ?? {});
  expect(verified).toEqual(JSON.parse(first?.body ?? ""));

  // From a trace to the log, and from a bucket to a trace.
  const ofTrace = async () => {
    const lines = (await kept.lines()).map((line) => JSON.parse(line));
    return lines.filter(({ trace_id }) => trace_id === traceId).map((line) => line.event);
  };
  // Lines of the engine's thread arrive a little later.
  await until(async () => (await ofTrace()).length === 3);
  expect((await ofTrace()).sort()).toEqual(["delivery", "delivery", "request"]);
  expect(await exemplars()).toContain(`{delivery_id="${id}",trace_id="${traceId}"}`);
  expect(await metric(server, "onair_spans_exported_total")).toBeGreaterThanOrEqual(4);
  expect(await metric(server, "onair_spans_dropped_total")).toBe(0);
});

test("without a parent each request starts a trace; each event of a batch has a span", async () => {
  const { collector, server, receiver } = await traced();
  await publishAll(server, [event("channel.followed", { id: "a" }), event("channel.followed", { id: "b" })]);
  const received = await receiver.arrived(2);
  const spansOf = async (id: string) => ({
    publishing: await collector.span((span) => span.kind === 4 && span.attributes["onair.event_id"] === id),
    attempt: await collector.span((span) => span.kind === 3 && span.attributes["onair.event_id"] === id),
  });
  const [a, b] = [await spansOf("a"), await spansOf("b")];
  const request = await collector.span((span) => span.spanId === a.publishing.parentSpanId);
  expect(request).not.toHaveProperty("parentSpanId");
  expect(request.name).toBe("POST publishEvents");
  expect(b.publishing.parentSpanId).toBe(request.spanId);
  expect([a.attempt.parentSpanId, b.attempt.parentSpanId]).toEqual([
    a.publishing.spanId,
    b.publishing.spanId,
  ]);
  const traces = received.map(({ headers }) => readTraceparent(headers["traceparent"] ?? null)?.traceId);
  expect(new Set(traces)).toEqual(new Set([request.traceId]));
});

test("a trace that the caller does not sample is not exported, and the receiver gets it as unsampled", async () => {
  const { collector, server, receiver } = await traced();
  await send(server, event("channel.followed"), given("00"));
  const [received] = await receiver.arrived(1);
  expect(received?.headers["traceparent"]).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  await server.get("/public/v1/categories");
  await collector.span(({ attributes }) => attributes["url.path"] === "/public/v1/categories");
  await settled(server);
  await server.stop();
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
});

test("a span keeps only the beginning of a long path, and no login challenge", async () => {
  const { collector, server } = await traced();
  const path = `/public/v1/${"x".repeat(3_000)}`;
  expect((await server.get(path)).status).toBe(404);
  const logins = "/admin/v1/login-requests/";
  await server.admin("GET", `${logins}onair_lc_4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6pL`);
  for (const kept of [path.slice(0, 1_024), `${logins}***`])
    await collector.span(({ attributes }) => attributes["url.path"] === kept);
  await server.stop();
});

test("with a share of 0 only traces sampled by the platform are exported, not those of strangers; probes never are", async () => {
  const { collector, server } = await traced({ args: ["--otlp-sample", "0"] });
  await server.get("/public/v1/categories", undefined, { headers: given() });
  for (const path of ["/healthz", "/readyz", "/metrics"]) await server.admin("GET", path, undefined, given());
  await server.admin("GET", "/admin/v1/applications", undefined, given());
  const span = await collector.span(() => true);
  expect(span.attributes["url.path"]).toBe("/admin/v1/applications");
  await server.stop();
  expect(collector.spans).toHaveLength(1);
});

test("a stopping server sends the last spans of both threads", async () => {
  const { collector, server, receiver } = await traced();
  await send(server, event("channel.followed"));
  await receiver.arrived(1);
  await settled(server);
  await server.stop();
  expect(collector.spans.map(({ kind }) => kind)).toEqual(expect.arrayContaining([2, 3, 4]));
});

test("the attempts for an event of an earlier process are a trace of their own", async () => {
  const { collector, server, receiver } = await traced({ answer: () => new Response(null, { status: 500 }) });
  // The same holds for an event that was published while tracing was off.
  const { app } = server;
  await app.engine.publish(newEvent("earlier", { broadcaster_user_id: 1001, published_at: Date.now() }));
  const [first] = await receiver.arrived(1);
  await settled(server);
  await server.admin("POST", `/admin/v1/deliveries/${first?.headers["webhook-id"]}/retry`);
  await receiver.arrived(2);
  const spans = [1, 2].map((n) => collector.span(({ attributes }) => attributes["onair.attempt"] === n));
  const [one, other] = await Promise.all(spans);
  expect(one?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(other?.traceId).toBe(one?.traceId ?? "");
  expect(one).not.toHaveProperty("parentSpanId");
});

test("an unreachable collector delays no request and no delivery", async () => {
  const receiver = ownReceiver();
  const server = await ownServer({
    engineThread: true,
    users,
    args: ["--otlp-endpoint", "http://127.0.0.1:1"],
  });
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  await publishAll(
    server,
    Array.from({ length: 200 }, () => event("channel.followed")),
  );
  await receiver.arrived(200);
  await until(async () => (await metric(server, "onair_spans_dropped_total")) > 0);
  expect(await metric(server, "onair_spans_exported_total")).toBe(0);
});

test("without an endpoint nothing is traced, and receivers get no trace header", async () => {
  const kept = keptLog();
  const server = await ownServer({ engineThread: true, users, log: kept.log });
  const receiver = ownReceiver();
  const app = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  await publish(server, event("channel.followed"));
  await send(server, event("channel.followed"), given());
  for (const { headers } of await receiver.arrived(2)) expect(headers).not.toHaveProperty("traceparent");
  expect((await kept.lines()).join("\n")).not.toContain("trace_id");
  expect(await metric(server, "onair_spans_dropped_total")).toBe(0);
});
