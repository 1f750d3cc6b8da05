import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { AttemptResult } from "../../src/domain/deliveries.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
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
  const recorder = createRecorder({ store, log: createLog("off"), progressed() {}, noticed() {} });
  void recorder.add({ status: "delivered" } as AttemptResult, isAwaited);
  jest.advanceTimersByTime(gatherMs - 1);
  expect(batches).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(batches).toEqual([1]);
});

test("the state of an endpoint is on disk with the result that it follows from, even if that fills the batch", async () => {
  const batches: string[] = [];
  const record: DeliveryStore["record"] = async (results, states) =>
    void batches.push(`${results.length} results, ${states.length} states`);
  const store = { deliveries: { record } as DeliveryStore };
  const recorder = createRecorder({ store, log: createLog("off"), progressed() {}, noticed() {} });
  const result = { status: "delivered" } as AttemptResult;
  for (let n = 1; n < 1_024; n++) void recorder.add(result);
  const recorded = recorder.add(result);
  recorder.addEndpoint(newEndpoint("app"));
  await recorded;
  expect(batches).toEqual(["1024 results, 1 states"]);
});
