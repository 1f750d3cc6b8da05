import { expect, test } from "bun:test";
import { giveWay, giveWayBy } from "../../src/domain/give-way.ts";

test("a thread gives way now and then, however often it is asked to, and only once it was told how", () => {
  let asked = 0;
  giveWay();
  giveWayBy(() => asked++);
  const startedAt = performance.now();
  let calls = 0;
  while (performance.now() - startedAt < 20) {
    giveWay();
    calls++;
  }
  const tookMs = performance.now() - startedAt;
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThanOrEqual(tookMs / 0.1 + 1);
  expect(calls).toBeGreaterThan(asked);
  giveWayBy(() => {});
});
