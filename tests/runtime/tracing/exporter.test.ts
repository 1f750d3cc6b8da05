import { expect, test } from "bun:test";
import { SpanExporter, Tracer } from "../../../src/runtime/tracing.ts";
import { version } from "../../../src/runtime/version.ts";
import { ownCollector, valuesOf } from "../../support/collector.ts";
import { keptLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";

/** An exporter to an endpoint, with the lines that it logs. */
function exportingTo(
  endpoint: string,
  options: { timeoutMs?: number; lastMs?: number; headers?: Record<string, string> } = {},
) {
  const { log, lines } = keptLog();
  const exporter = new SpanExporter({ endpoint, headers: {}, log, ...options });
  const tracer = new Tracer(exporter.add, 1);
  const end = (count: number) => {
    for (let i = 0; i < count; i++)
      tracer.end(tracer.begin(null), {
        name: `span ${i}`,
        kind: "server",
        attributes: { text: "é", whole: 7, part: 0.5, none: null },
        error: i === 1 ? "It failed." : null,
      });
  };
  return { exporter, end, events: async () => (await lines()).map((line) => JSON.parse(line).event) };
}

test("a collector receives spans in OTLP format, with their resource", async () => {
  const collector = ownCollector();
  const before = Date.now();
  const { exporter, end, events } = exportingTo(collector.url, { headers: { authorization: "Bearer abc" } });
  end(2);
  await exporter.stop();
  const [request] = collector.requests;
  expect(request?.path).toBe("/v1/traces");
  expect(request?.headers.get("authorization")).toBe("Bearer abc");
  expect(request?.headers.get("content-type")).toBe("application/json");
  const resource = request?.body.resourceSpans[0]?.resource.attributes ?? [];
  expect(valuesOf(resource)).toEqual({ "service.name": "onair", "service.version": version });
  const [one, other] = collector.spans;
  expect(one).toMatchObject({ name: "span 0", kind: 2, attributes: { text: "é", whole: 7, part: 0.5 } });
  expect(one?.attributes).not.toHaveProperty("none");
  expect(one).not.toHaveProperty("status");
  expect(one).not.toHaveProperty("parentSpanId");
  expect(other?.status).toEqual({ code: 2, message: "It failed." });
  const startedAt = Number(BigInt(one?.startTimeUnixNano ?? 0) / 1_000_000n);
  expect(startedAt).toBeGreaterThan(before - 5_000);
  expect(startedAt).toBeLessThan(Date.now() + 5_000);
  expect(BigInt(one?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(one?.startTimeUnixNano ?? 0));
  expect(exporter.counts).toEqual({ exported: 2, dropped: 0 });
  expect(await events()).toEqual([]);
});

test("many spans are sent in several requests, in order", async () => {
  const collector = ownCollector();
  const { exporter, end } = exportingTo(collector.url);
  end(1_000);
  await until(() => exporter.counts.exported === 1_000);
  await exporter.stop();
  expect(collector.spans.map(({ name }) => name)).toEqual(
    Array.from({ length: 1_000 }, (_, i) => `span ${i}`),
  );
  expect(collector.requests.length).toBeGreaterThan(5);
  expect(exporter.counts).toEqual({ exported: 1_000, dropped: 0 });
});

test("with a collector that hangs, only spans are lost: the queue is bounded and losses are counted", async () => {
  const collector = ownCollector(() => new Promise(() => {}));
  const { exporter, end, events } = exportingTo(collector.url, { timeoutMs: 200, lastMs: 10 });
  end(10_000);
  // The spans of the first request, and the queued ones.
  expect(exporter.counts).toEqual({ exported: 0, dropped: 10_000 - 128 - 4_096 });
  await until(async () => (await events()).length > 0);
  expect(await events()).toEqual(["spans_not_exported"]);
  await exporter.stop();
  expect(exporter.counts).toEqual({ exported: 0, dropped: 10_000 });
});

test.each([
  ["refuses", () => new Response(null, { status: 400 })],
  ["is overloaded", () => new Response(null, { status: 503 })],
  ["redirects", () => Response.redirect("http://127.0.0.1:1/", 307)],
])(
  "with a collector that %s, spans are lost, and only the failure and the recovery are logged",
  async (_, refuse) => {
    let isWell = false;
    const collector = ownCollector(() => (isWell ? Response.json({}) : refuse()));
    const { exporter, end, events } = exportingTo(collector.url);
    end(256);
    await until(() => exporter.counts.dropped === 256);
    expect(await events()).toEqual(["spans_not_exported"]);
    isWell = true;
    end(128);
    await until(() => exporter.counts.exported === 128);
    expect(await events()).toEqual(["spans_not_exported", "spans_exported_again"]);
    await exporter.stop();
  },
);

test("an unreachable collector has the same effect", async () => {
  const { exporter, end, events } = exportingTo("http://127.0.0.1:1");
  end(3);
  await exporter.stop();
  expect(exporter.counts).toEqual({ exported: 0, dropped: 3 });
  expect(await events()).toEqual(["spans_not_exported"]);
});
