import { describe, expect, test } from "bun:test";
import type { LogLevel, RequestLine } from "../../src/runtime/log.ts";
import { keptLog } from "../support/kept-log.ts";
import { Clock } from "../support/server.ts";

/** A log whose lines are kept, and its clock. */
function keeping(level: LogLevel = "info") {
  const clock = new Clock();
  return { clock, ...keptLog(level, () => clock.ms) };
}

const usual: RequestLine = {
  requestId: "01KEYM79QBABCDEFGHJKMNPQRS",
  method: "GET",
  path: "/public/v1/users/xqcow",
  status: 200,
  durationMs: 0.25,
  client: "2001:db8::1",
  applicationId: "01KEYM79QBABCDEFGHJKMNPQRT",
  traceId: null,
};

describe("the line of a request is the output of JSON.stringify", () => {
  test.each<[string, Partial<RequestLine>, object]>([
    ["as usual", {}, { duration_ms: 0.25 }],
    ["nobody's", { applicationId: null }, {}],
    ["of an unknown address", { client: "" }, {}],
    ["an error", { status: 503, method: "OPTIONS" }, { status: 503, method: "OPTIONS" }],
    ["no time at all", { durationMs: 0 }, { duration_ms: 0 }],
    ["half a microsecond", { durationMs: 0.0005 }, { duration_ms: 0.001 }],
    ["a second", { durationMs: 1000.0009 }, { duration_ms: 1000.001 }],
    ["ten minutes", { durationMs: 600_123.456 }, { duration_ms: 600_123.456 }],
    ["the shortest path", { path: "/" }, { path: "/" }],
    ["a long path", { path: `/${"a%20".repeat(4000)}` }, { path: `/${"a%20".repeat(4000)}` }],
    [
      "traced",
      { traceId: "0af7651916cd43dd8448eb211c80319c" },
      { trace_id: "0af7651916cd43dd8448eb211c80319c" },
    ],
    ["an id of the client's", { requestId: "a.b:c-d_e" }, { request_id: "a.b:c-d_e" }],
  ])("%s", async (_, changes, shown) => {
    const { clock, log, lines } = keeping();
    log.request({ ...usual, ...changes });
    const [line = "", ...others] = await lines();
    expect(others).toEqual([]);
    const expected: Record<string, unknown> = {
      time: new Date(clock.ms).toISOString(),
      level: "info",
      event: "request",
      request_id: usual.requestId,
      method: "GET",
      path: usual.path,
      status: 200,
      duration_ms: 0.25,
      client: usual.client,
      application_id: usual.applicationId,
      ...shown,
    };
    if (changes.client === "") delete expected.client;
    if (changes.applicationId === null) delete expected.application_id;
    expect(JSON.parse(line)).toEqual(expected);
    expect(Object.keys(JSON.parse(line))).toEqual(Object.keys(expected));
  });
});

test("lines are complete and in order, however many there are, each with its own time", async () => {
  const { clock, log, lines } = keeping();
  const expected: unknown[][] = [];
  for (let i = 0; i < 3_000; i++) {
    const time = new Date(clock.ms).toISOString();
    if (i % 10 === 9) {
      log.warn("strange", { n: i, text: "é한\u{1f600}".repeat(i % 100) });
      expected.push([time, "strange", i]);
    } else {
      log.request({ ...usual, status: 100 + (i % 400), path: `/${"x".repeat(i % 300)}` });
      expected.push([time, "request", 100 + (i % 400)]);
    }
    if (i % 7 === 0) clock.advance(1);
  }
  const parsed = (await lines()).map((line) => {
    const { time, event, n, status } = JSON.parse(line);
    return [time, event, n ?? status];
  });
  expect(parsed).toEqual(expected);
});

test("a line longer than the buffer is complete", async () => {
  const { log, lines } = keeping();
  log.info("long", { text: "한".repeat(100_000) });
  log.request(usual);
  const [long = "", next = ""] = await lines();
  expect(JSON.parse(long).text).toHaveLength(100_000);
  expect(JSON.parse(next).event).toBe("request");
});

test.each<[LogLevel, string[]]>([
  ["debug", ["debug", "info", "warn", "internal_error", "request"]],
  ["info", ["info", "warn", "internal_error", "request"]],
  ["warn", ["warn", "internal_error"]],
  ["error", ["internal_error"]],
  ["off", []],
])("with the level %s, lines of %p are written", async (level, expected) => {
  const { log, lines } = keeping(level);
  for (const name of ["debug", "info", "warn"] as const) log[name](name);
  log.error("internal_error");
  log.request(usual);
  expect((await lines()).map((line) => JSON.parse(line).event)).toEqual(expected);
});
