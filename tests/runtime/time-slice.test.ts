import { expect, test } from "bun:test";
import { TimeSlice } from "../../src/runtime/event-loop.ts";

test("work that asks whether its slice is over lets everybody else have turns", async () => {
  let turns = 0;
  let isDone = false;
  const others = () => {
    turns++;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  const slice = new TimeSlice();
  let breaks = 0;
  for (const endAt = performance.now() + 20; performance.now() < endAt; ) {
    if (!slice.isOver) continue;
    breaks++;
    await slice.next();
  }
  isDone = true;
  expect(breaks).toBeGreaterThan(5);
  expect(turns).toBeGreaterThanOrEqual(breaks);
});
