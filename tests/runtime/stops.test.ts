import { expect, test } from "bun:test";
import { Stops } from "../../src/runtime/services.ts";
import { keptLog } from "../support/log.ts";
import { settle, VirtualTime } from "../support/virtual-time.ts";

const second = 1_000;
/** A stop that never ends. */
const hanging = () => new Promise<never>(() => {});

/** Stops with the timers of a clock that the test moves, and the names of the stops that it began. */
function watchedStops() {
  const time = new VirtualTime();
  const { log, lines } = keptLog("error");
  const begun: string[] = [];
  const stops = new Stops(log, time.timers, time.monotonic);
  const add = (name: string, stop: (graceMs: number) => unknown = () => {}) =>
    stops.add(name, (graceMs) => {
      begun.push(`${name} ${graceMs}`);
      return stop(graceMs);
    });
  const late = async () => (await lines()).map((line) => JSON.parse(line).what);
  return { time, stops, add, begun, late };
}

test("what was started is stopped in reverse order, also after a stop that fails, and only once", async () => {
  const { stops, add, begun } = watchedStops();
  add("first");
  add("second", () => Promise.reject(new Error("second")));
  add("third", () => {
    throw new Error("third");
  });
  await stops.stop(5);
  await stops.stop(5);
  expect(begun).toEqual(["third 5", "second 5", "first 5"]);
});

test("a stop that hangs is given up 20 seconds after its grace, and the next ones have theirs", async () => {
  const { time, stops, add, begun, late } = watchedStops();
  add("first");
  add("hangs", hanging);
  const stopped = stops.stop(10 * second);
  await time.pass(30 * second - 1, settle);
  expect(begun).toEqual(["hangs 10000"]);
  await time.pass(1, settle);
  await stopped;
  expect(begun).toEqual(["hangs 10000", "first 10000"]);
  expect(await late()).toEqual(["hangs"]);
});

test("however many stops hang, all together end 20 seconds after twice the grace", async () => {
  const { time, stops, add, begun, late } = watchedStops();
  for (const name of ["a", "b", "c", "d"]) add(name, hanging);
  add("e", (graceMs) => time.timers.pause(graceMs));
  add("f", (graceMs) => time.timers.pause(graceMs));
  let hasEnded = false;
  const stopped = stops.stop(10 * second).then(() => {
    hasEnded = true;
  });
  await time.pass(40 * second - 1, settle);
  expect(begun).toEqual(["f 10000", "e 10000", "d 10000"]);
  expect(hasEnded).toBe(false);
  // The others are begun at the same time, without a grace and with a second to end.
  await time.pass(second + 1, settle);
  expect(begun.slice(3)).toEqual(["c 0", "b 0", "a 0"]);
  expect(hasEnded).toBe(true);
  await stopped;
  expect(await late()).toEqual(["d", "c", "b", "a"]);
});
