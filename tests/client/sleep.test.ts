import { expect, test } from "bun:test";
import { sleep } from "../../src/client/sleep.ts";

test("a wait that is longer than a timer takes does not end at once", async () => {
  const stop = new AbortController();
  let isOver = false;
  const waiting = sleep(100 * 24 * 3600 * 1000, stop.signal).then(() => {
    isOver = true;
  });
  await Bun.sleep(50);
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
});
