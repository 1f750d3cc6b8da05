import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { type StorageFault, stalledAfterMs } from "../../src/domain/store.ts";
import { second } from "../../src/domain/time.ts";
import { StorageWatch } from "../../src/operations/storage-health.ts";
import { createLog } from "../../src/runtime/log.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Lets the promises of this moment settle. */
const settled = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

test("a check that does not end is a fault after half a minute, until one ends without", async () => {
  let now = 0;
  let end: (fault: StorageFault | null) => void = () => {};
  const watch = new StorageWatch(createLog("off"), () => now);
  const announced: string[] = [];
  watch.start(
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
    (type) => void announced.push(type),
  );
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += second / 2) {
      now += second / 2;
      jest.advanceTimersByTime(second / 2);
      await settled();
    }
  };
  await pass(stalledAfterMs - second);
  expect(watch.problem).toBeNull();
  await pass(10 * second);
  expect(watch.problem).toBe("A read or write of the database has not ended for 30 seconds");
  end(null);
  await pass(3 * second);
  expect(watch.problem).not.toBeNull();
  end(null);
  await settled();
  expect(watch.problem).toBeNull();
  expect(announced).toEqual(["storage.failing", "storage.recovered"]);
  watch.stop();
});
