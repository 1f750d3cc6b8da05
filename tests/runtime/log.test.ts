import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../src/domain/errors.ts";
import { StoreError } from "../../src/domain/store.ts";
import { minute, second } from "../../src/domain/time.ts";
import { errorEvents, type LogLevel, RepeatedLines, type RequestLine } from "../../src/runtime/log.ts";
import { keptLog, logEvents } from "../support/log.ts";
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

const root = join(import.meta.dir, "../..");
const [, table = ""] = readFileSync(join(root, "docs/doctor.md"), "utf8").split(/^## Events of the log$/m);
const rows = table.split("\n").filter((line) => line.startsWith("| `"));

const events = new Set(logEvents());

test("every event of an error is documented, and has a place in the source", () => {
  expect(errorEvents.filter((name) => !rows.some((line) => line.includes(`\`${name}\``)))).toEqual([]);
  const used = (name: string) => name.startsWith("storage_") || events.has(`${name} error`);
  expect(errorEvents.filter((name) => !used(name))).toEqual([]);
});

test("every log event is documented, with its level", () => {
  expect(events.size).toBeGreaterThan(40);
  const missing = [...events].filter((event) => {
    const [name, level = ""] = event.split(" ");
    const row = rows.find((line) => line.includes(`\`${name}\``));
    return !row?.split("|")[2]?.includes(level);
  });
  expect(missing).toEqual([]);
});

/** Error and fields of each line of a log. */
async function shown(lines: () => Promise<string[]>): Promise<unknown[]> {
  return (await lines()).map((line) => {
    const { event, application_id, repeated } = JSON.parse(line);
    return [event, application_id, repeated];
  });
}

test("an error that occurs every second is logged once a minute, with its number, whatever it concerns", async () => {
  const clock = new Clock();
  const { log, lines } = keptLog("error", clock.now);
  for (let i = 0; i <= 150; i++) {
    log.failure("look_up_failed", new Error(`no answer after ${i} ms`), { application_id: i });
    clock.advance(second);
  }
  expect(await shown(lines)).toEqual([
    ["look_up_failed", 0, undefined],
    ["look_up_failed", 60, 60],
    ["look_up_failed", 120, 60],
    ["look_up_failed", 150, 30], // written by flush
  ]);
  expect(log.errors.look_up_failed).toBe(151);
});

test("only a bug has a stack: the message of an expected fault says what to do", async () => {
  const { log, lines } = keptLog("error");
  log.failure("backup.not_listed", new DomainError("unavailable", "The directory cannot be used."));
  log.failure("backup.failed", new StoreError("The disk is full."));
  log.failure("backup.failed", new TypeError("undefined is not a function"));
  const told = (await lines()).map((line) => JSON.parse(line));
  expect(told.map(({ error, stack }) => [error, stack !== undefined])).toEqual([
    ["DomainError: The directory cannot be used.", false],
    ["StoreError: The disk is full.", false],
    ["TypeError: undefined is not a function", true],
  ]);
});

test("other events, other reasons and other places in the source have lines of their own", async () => {
  const { log, lines } = keptLog("error");
  const here = new Error("away");
  const there = new Error("away");
  for (let i = 0; i < 2; i++) {
    log.failure("look_up_failed", here, { application_id: "here" });
    log.failure("look_up_failed", there, { application_id: "there" });
    log.failure("record_failed", here);
    log.failure("record_failed", "text");
    log.repeated("error", "unavailable", "Full.");
    log.repeated("error", "unavailable", "Away.");
  }
  const first = [
    ["look_up_failed", "here", undefined],
    ["look_up_failed", "there", undefined],
    ["record_failed", undefined, undefined],
    ["record_failed", undefined, undefined],
    ["unavailable", undefined, undefined],
    ["unavailable", undefined, undefined],
  ];
  expect(await shown(lines)).toEqual([...first, ...first.map(([event, id]) => [event, id, 1])]);
});

test("the number is written a minute later, when the error occurs no more", () => {
  const clock = new Clock();
  const waiting: (() => void)[] = [];
  const written: unknown[] = [];
  const lines = new RepeatedLines(clock.now, (work) => waiting.push(work));
  const pass = () => {
    clock.advance(minute);
    waiting.shift()?.();
  };
  for (let n = 1; n <= 3; n++) lines.add("record_failed", "", { n }, (fields) => written.push(fields));
  expect(written).toEqual([{ n: 1 }]);
  pass();
  expect(written).toEqual([{ n: 1 }, { n: 3, repeated: 2 }]);
  pass();
  expect([written.length, waiting.length]).toEqual([2, 0]);
  lines.add("record_failed", "", { n: 4 }, (fields) => written.push(fields));
  expect(written.at(-1)).toEqual({ n: 4 });
});

test("however many reasons there are, the lines of a minute are bounded", async () => {
  const { log, lines } = keptLog("error", new Clock().now);
  for (let i = 0; i < 5_000; i++) log.repeated("error", "unavailable", `reason ${i}`);
  expect((await lines()).length).toBeLessThan(110);
  expect(log.errors.unavailable).toBe(5_000);
});

test("errors are counted on every level of the log", () => {
  const { log } = keptLog("off");
  log.failure("record_failed", new Error("away"));
  log.error("storage_full");
  log.repeated("warn", "descriptors_scarce", "");
  const counted = Object.entries(log.errors).filter(([, count]) => count > 0);
  expect(counted).toEqual([
    ["record_failed", 1],
    ["storage_full", 1],
  ]);
});
