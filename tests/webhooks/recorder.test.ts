import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { AttemptResult } from "../../src/domain/deliveries.ts";
import { createLog } from "../../src/log/log.ts";
import type { DeliveryStore } from "../../src/store/deliveries.ts";
import { createRecorder } from "../../src/webhooks/recorder.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test.each([
  ["that nothing waits for is gathered longer", false, 250],
  ["that a replay waits for is on disk soon", true, 20],
])("what has arrived and %s", (_, isAwaited, gatherMs) => {
  const batches: number[] = [];
  const record: DeliveryStore["record"] = async (results) => void batches.push(results.length);
  const store = { deliveries: { record } as DeliveryStore };
  const recorder = createRecorder({ store, log: createLog("off"), progressed: () => {} });
  void recorder.add({ status: "delivered" } as AttemptResult, isAwaited);
  jest.advanceTimersByTime(gatherMs - 1);
  expect(batches).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(batches).toEqual([1]);
});
