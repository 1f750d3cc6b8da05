import { expect, test } from "bun:test";
import { minute, second } from "../../src/domain/time.ts";
import { RepeatedLines } from "../../src/runtime/log.ts";
import { keptLog } from "../support/kept-log.ts";
import { Clock } from "../support/server.ts";

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
