import { test as anyTest, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { minute } from "../../src/domain/time.ts";
import { version } from "../../src/runtime/version.ts";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { complaintsOf, hasPromtool, metric, metricsText, samplesOf } from "../support/metrics.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import {
  Clock,
  isOnPostgres,
  json,
  ownDirectory,
  ownServer,
  testDirectory,
  testServer,
} from "../support/server.ts";
import { until } from "../support/until.ts";

const promtoolTest = anyTest.skipIf(!hasPromtool);
const openMetrics = { accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5" };

const server = await testServer({ users });
const receiver = testReceiver((_, number) => new Response(null, { status: number === 1 ? 410 : 204 }));
// Measured in a thread of its own, for which an answer waits only so long.
await until(async () => (await metricsText(server)).includes("onair_data_bytes"));
const atStart = samplesOf(await metricsText(server));

describe("GET /metrics", () => {
  let text: string;
  let failing = "";
  beforeAll(async () => {
    const gone = await server.application({ webhook_url: receiver.url });
    failing = gone.id;
    await subscribe(server, gone, ["kicks.gifted"]);
    await publish(server, event("kicks.gifted"));
    await receiver.arrived(1);
    await settled(server);
    const well = await server.application({ webhook_url: receiver.url });
    await subscribe(server, well, ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await receiver.arrived(2);
    await settled(server);
    await server.get("/public/v1/categories");
    await server.get("/nowhere");
    const response = await fetch(`${server.adminUrl}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    text = await response.text();
  });
  test.each([
    'onair_attempts_total{outcome="ok"} 1',
    'onair_attempts_total{outcome="status"} 1',
    'onair_deliveries_finished_total{status="delivered"} 1',
    'onair_deliveries_finished_total{status="failed"} 1',
    'onair_endpoint_notices_total{notice="endpoint.disabled"} 1',
    "onair_attempts_in_flight 0",
    "onair_endpoints_held_up 1",
    "onair_log_lines_left_out_total 0",
    'onair_http_requests_total{listener="public",status="404"} 1',
    'onair_events_published_total{type="kicks.gifted"} 1',
    'onair_events_published_total{type="chat.message.sent"} 0',
    "onair_attempt_duration_seconds_count 2",
    'onair_publish_to_arrival_seconds_count{attempt="first"} 1',
    'onair_publish_to_arrival_seconds_count{attempt="later"} 0',
    "onair_deliveries_pending 0",
    "onair_oldest_pending_age_seconds 0",
    `onair_build_info{version="${version}",commit="",bun="${Bun.version}",database="${isOnPostgres ? "postgresql" : "sqlite"}"} 1`,
  ])("tells %s", (line) => {
    expect(text.split("\n")).toContain(line);
  });

  test("counts failures by application", () => {
    expect(text).toContain(`onair_application_failures_total{application="${failing}"} 1\n`);
  });

  test("counts requests and refused ones by application, and errors of the log", async () => {
    const own = await ownServer({ users });
    const { id, token } = await own.application({ name: 'Flood"er"', rate_limit: 2 });
    for (let i = 0; i < 3; i++) await own.get("/public/v1/users/nobody", token);
    const labels = `{application="${id}",name="Flood\\"er\\""}`;
    const samples = samplesOf(await metricsText(own));
    expect(samples.get(`onair_application_requests_total${labels}`)).toBe(3);
    expect(samples.get(`onair_application_rate_limited_total${labels}`)).toBe(1);
    expect(samples.get('onair_application_requests_total{application="other",name="other"}')).toBe(0);
    expect(samples.get('onair_log_errors_total{event="record_failed"}')).toBe(0);
  });

  test("has every counter from the start on, at 0", () => {
    const counts = [...atStart].filter(([series]) => /_(total|count|bucket)(\{|$)/.test(series));
    const notYet = counts.filter(
      ([series]) =>
        !/^process_cpu|event_loop_delay|database_statement|listener="admin",(status="20|le=)|\{listener="admin"\}/.test(
          series,
        ),
    );
    expect(notYet.length).toBeGreaterThan(100);
    for (const [series, value] of notYet) expect([series, value]).toEqual([series, 0]);
    const now = [...samplesOf(text).keys()];
    const later = now.filter((series) => !atStart.has(series) && !series.startsWith("onair_application_"));
    expect(later).toEqual([]);
  });

  test("shows the process and its storage", () => {
    const samples = samplesOf(text);
    const above = (series: string) => samples.get(series) ?? Number.NaN;
    for (const series of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "onair_database_bytes",
      'onair_data_bytes{kind="users"}',
    ])
      expect([series, above(series) > 0]).toEqual([series, true]);
    const startedAt = above("process_start_time_seconds") * 1000;
    expect(startedAt).toBeLessThanOrEqual(Date.now());
    expect(startedAt).toBeGreaterThan(Date.now() - 24 * 60 * minute);
    // The disk of a data directory; PostgreSQL has one of its own.
    expect(samples.has("onair_disk_free_bytes")).toBe(!isOnPostgres);
    expect(samples.has("onair_database_wal_bytes")).toBe(!isOnPostgres);
    expect(samples.has("onair_last_backup_timestamp_seconds")).toBe(!isOnPostgres);
    if (isOnPostgres) return;
    expect(above("onair_disk_free_bytes")).toBeLessThanOrEqual(above("onair_disk_size_bytes"));
    expect(above("onair_database_wal_bytes")).toBeGreaterThan(0);
  });

  test("leaves out the memory if the system does not report it", async () => {
    const untold = spyOn(process.memoryUsage, "rss").mockImplementation(() => {
      throw new Error("Failed to get memory usage");
    });
    try {
      const samples = samplesOf(await metricsText(server));
      expect(untold).toHaveBeenCalled();
      expect(samples.has("process_resident_memory_bytes")).toBe(false);
      expect(samples.has("process_cpu_seconds_total")).toBe(true);
    } finally {
      untold.mockRestore();
    }
  });

  test("measures the delay of both threads", async () => {
    for (const thread of ["main", "engine"])
      await until(
        async () => (await metric(server, `onair_event_loop_delay_seconds_count{thread="${thread}"}`)) > 0,
      );
  });

  test("counts every request of a listener once, in buckets that add up", () => {
    const value = (line: RegExp) => Number(line.exec(text)?.[1]);
    const statuses = [
      ...text.matchAll(/^onair_http_requests_total\{listener="public",status="\d+"\} (\d+)$/gm),
    ];
    const total = statuses.reduce((sum, [, count]) => sum + Number(count), 0);
    expect(total).toBeGreaterThan(4);
    expect(value(/_count\{listener="public"\} (\d+)/)).toBe(total);
    expect(value(/_bucket\{listener="public",le="\+Inf"\} (\d+)/)).toBe(total);
  });

  test("is in the form that Prometheus reads: each line a comment or a sample, each name with its type", () => {
    const typed = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    for (const line of text.trimEnd().split("\n")) {
      if (line.startsWith("# ")) continue;
      const name = /^([a-z_]+)(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.e+-]+$/.exec(line)?.[1];
      expect(name).toBeString();
      expect(typed.has(name) || typed.has(name?.replace(/_(bucket|sum|count)$/, ""))).toBe(true);
    }
  });

  promtoolTest("has nothing that promtool would name otherwise", async () => {
    expect(await complaintsOf(["check", "metrics"], text)).toBe("");
  });

  describe("in OpenMetrics", () => {
    test.each([
      [openMetrics.accept, true],
      ["application/openmetrics-text", true],
      ["text/plain, Application/OpenMetrics-Text; version=1.0.0", true],
      ["application/openmetrics-text;q=0, text/plain", false],
      ["application/openmetrics-textual", false],
      ["*/*", false],
      ["", false],
    ])("where it is asked for: %s", async (accept, isAsked) => {
      const response = await fetch(`${server.adminUrl}/metrics`, { headers: { accept } });
      expect(response.headers.get("content-type")).toBe(
        isAsked ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4",
      );
      expect((await response.text()).endsWith("\n# EOF\n")).toBe(isAsked);
    });

    test("buckets have an exemplar, by which a request and a delivery are found in the log", async () => {
      const answered = await server.get("/public/v1/categories", undefined, {
        headers: { "x-request-id": "exemplary" },
      });
      expect(answered.status).toBe(200);
      const shown = await metricsText(server, openMetrics);
      expect(shown).toMatch(
        /^onair_http_request_duration_seconds_bucket\{listener="public",le="[^"]+"\} \d+ # \{request_id="exemplary"\} [0-9.e-]+ \d+\.\d{3}$/m,
      );
      expect(shown).toMatch(
        /^onair_publish_to_arrival_seconds_bucket\{attempt="first",le="[^"]+"\} 1 # \{delivery_id="[0-9A-Z]{26}"\} /m,
      );
      expect(text).not.toContain(" # ");
    });

    test("has the same samples under the same names", async () => {
      const names = (shown: Map<string, number>) => [...shown.keys()].sort();
      expect(names(samplesOf(await metricsText(server, openMetrics)))).toEqual(names(samplesOf(text)));
    });

    promtoolTest("is read by Prometheus to its end", async () => {
      const shown = await metricsText(server, openMetrics);
      // To import samples, promtool needs their times.
      const timed = shown.replace(
        /^([^#\n][^\n]*?)( # .*)?$/gm,
        (_, sample, exemplar = "") => `${sample} 1700000000${exemplar}`,
      );
      const file = join(ownDirectory(), "metrics");
      await Bun.write(file, timed);
      expect(await complaintsOf(["tsdb", "create-blocks-from", "openmetrics", file, ownDirectory()])).toBe(
        "",
      );
      const cutOff = timed.replace(/\n# EOF\n$/, "\n");
      await Bun.write(file, cutOff);
      expect(
        await complaintsOf(["tsdb", "create-blocks-from", "openmetrics", file, ownDirectory()]),
      ).toContain("does not end with # EOF");
    });
  });
});

test("pending deliveries are counted in the database, with the age of the oldest", async () => {
  const clock = new Clock();
  const one = await ownServer({ users, clock });
  const app = await one.application({ webhook_url: "http://127.0.0.1:1/" });
  await subscribe(one, app, ["channel.followed"]);
  await publish(one, event("channel.followed"));
  await settled(one);
  clock.advance(5 * minute);
  await publish(one, event("channel.followed"));
  await settled(one);
  expect(await metric(one, "onair_deliveries_pending")).toBe(2);
  expect(await metric(one, "onair_oldest_pending_age_seconds")).toBe(300);
});

test("open event streams, and requests beyond a limit", async () => {
  const one = await ownServer({ users, args: ["--stream-limit", "1"] });
  const app = await one.application({ delivery: "stream" });
  const open = () => one.get("/public/v1/events/stream", app.token);
  const stream = await open();
  expect(await metric(one, "onair_event_streams_open")).toBe(1);
  expect((await open()).status).toBe(429);
  expect(await metric(one, 'onair_http_requests_total{listener="public",status="429"}')).toBe(1);
  await stream.body?.cancel();
  await until(async () => (await metric(one, "onair_event_streams_open")) === 0);
});

test.skipIf(isOnPostgres)("the time of the last backup", async () => {
  const one = await ownServer();
  const name = "onair_last_backup_timestamp_seconds";
  expect(await metric(one, name)).toBe(0);
  const { created_at } = await json<{ created_at: string }>(await one.admin("POST", "/admin/v1/backups"));
  await until(async () => (await metric(one, name)) > 0);
  expect(await metric(one, name)).toBe(Date.parse(created_at) / 1000);
});

describe.skipIf(!hasOpenssl)("certificates", () => {
  const { cert, key } = selfSigned(testDirectory(), "metrics");
  test("show until when they are good, by listener", async () => {
    const one = await ownServer({ args: ["--tls-cert", cert, "--tls-key", key] });
    const name = "onair_tls_certificate_expiry_timestamp_seconds";
    const expiry = (await metric(one, `${name}{listener="public"}`)) - Date.now() / 1000;
    expect(Math.round(expiry / 86_400)).toBe(30);
    expect(await metric(one, `${name}{listener="admin"}`)).toBeNaN();
  });
});
