import { expect, jest, test } from "bun:test";
import { sleep } from "../../src/client/http.ts";
import { afterThisTest } from "../support/after-tests.ts";

test("a wait beyond the maximum delay of setTimeout does not end at once", async () => {
  jest.useFakeTimers();
  afterThisTest(() => jest.useRealTimers());
  const stop = new AbortController();
  let isOver = false;
  const waiting = sleep(100 * 24 * 3600 * 1000, stop.signal).then(() => {
    isOver = true;
  });
  jest.advanceTimersByTime(2 ** 31 - 2);
  await Promise.resolve();
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
});
