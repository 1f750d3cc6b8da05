import { afterEach, expect, test } from "bun:test";
import { DomainError } from "../../src/domain/errors.ts";
import { createLog, type Log } from "../../src/log.ts";
import { startThread, type Thread } from "../../src/threads/start.ts";
import { keptLog } from "../support/kept-log.ts";

const program = new URL("../support/sample-thread.ts", import.meta.url).href;

let thread: Thread | null = null;
afterEach(() => thread?.end());

const eventsOf = (lines: readonly string[]) =>
  lines.map((line) => (JSON.parse(line) as { event: string }).event);

function start(more: { start?: object; offered?: object; failed?: (error: Error) => void; log?: Log } = {}) {
  const { log = createLog("off"), start = {}, failed = () => {} } = more;
  const { offered = {} } = more;
  thread = startThread({ name: "sample", program, start, offered, logLevel: "info", log, failed });
  return thread;
}

test("calls are answered, many in one turn of the event loop, each with its own answer", async () => {
  const { link } = start();
  const sums = await Promise.all(Array.from({ length: 100 }, (_, i) => link.call<number>("add", i, 1)));
  expect(sums).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
});

/** Not by `expect().rejects`, which holds up the event loop that is to send the call. */
const errorOf = (call: Promise<unknown>) => call.then(() => null).catch((error: unknown) => error);

test("what is thrown there is thrown here", async () => {
  const { link } = start();
  expect(await errorOf(link.call("refuse"))).toEqual(new DomainError("not_found", "There is none"));
  expect(await errorOf(link.call("nothing"))).toMatchObject({ code: "unavailable" });
});

test("each side calls the other", async () => {
  const { link } = start({ offered: { name: () => "the main thread" } });
  expect(await link.call<string>("ask", "name")).toBe("the main thread");
});

test("a thread that refuses to start says why", async () => {
  const refusal = new DomainError("conflict", "It does not want to");
  const { started, link } = start({ start: { refuse: true } });
  const early = errorOf(link.call("add", 1, 1));
  expect(await errorOf(started)).toEqual(refusal);
  expect(await early).toEqual(refusal);
  expect(await errorOf(link.call("add", 1, 1))).toEqual(refusal);
});

test("what is called before it has started waits, and is done in order", async () => {
  const { link, started } = start({ start: { afterMs: 50 } });
  const order: string[] = [];
  const done = (what: string) => () => order.push(what);
  const calls = [link.call("add", 1, 1).then(done("one")), link.call("add", 1, 1).then(done("two"))];
  await Promise.all([started.then(done("started")), ...calls]);
  expect(order).toEqual(["started", "one", "two"]);
});

test("its log comes out here, at its level", async () => {
  const { log, lines } = keptLog();
  const { link } = start({ log });
  await link.call("say", "one");
  await link.call("whisper", "two");
  await link.call("flush");
  expect(eventsOf(await lines())).toEqual(["one"]);
});

test("one that breaks down is told of, and whoever waits for it waits no more", async () => {
  const { log, lines } = keptLog();
  const failed = Promise.withResolvers<Error>();
  const { link } = start({ log, failed: failed.resolve });
  const waiting = errorOf(link.call("never"));
  link.tell("breakDown");
  expect(await waiting).toMatchObject({ message: expect.stringContaining("broken down") });
  expect((await failed.promise).message).toContain("broken down");
  expect(eventsOf(await lines())).toEqual(["thread_failed"]);
});

test("one that was ended answers nobody, and nobody waits for it", async () => {
  const { link, end, started } = start();
  await started;
  const waiting = errorOf(link.call("never"));
  end();
  expect(await waiting).toMatchObject({ message: "The thread sample has ended" });
});
