import { expect, test } from "bun:test";
import { createRecorder } from "../../../src/delivery/record.ts";
import type { AttemptResult, DeliveryStore } from "../../../src/domain/deliveries.ts";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import type { NewNotice } from "../../../src/domain/notices.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { attemptResult } from "../../support/store.ts";
import { settle, VirtualTime } from "../../support/virtual-time.ts";

test.each([
  ["that nothing waits for is gathered longer", false, 250],
  ["that a replay waits for is on disk soon", true, 20],
])("what has arrived and %s", async (_, isAwaited, gatherMs) => {
  const batches: number[] = [];
  const record: DeliveryStore["record"] = async (results) => void batches.push(results.length);
  const store = { deliveries: { record } as DeliveryStore };
  const time = new VirtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {} };
  const recorder = createRecorder({ ...options, timers: time.timers });
  void recorder.add({ status: "delivered" } as AttemptResult, isAwaited);
  await time.pass(gatherMs - 1, settle);
  expect(batches).toEqual([]);
  await time.pass(1, settle);
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

test("a result that cannot be stored ends as failed, and all others of its batch are recorded as they are", async () => {
  const stored = new Map<number, AttemptResult>();
  const states: string[] = [];
  const bad = 37;
  const record: DeliveryStore["record"] = async (results, endpoints) => {
    if (results.some(({ seq, attempt }) => seq === bad && attempt !== null)) throw new Error("no such text");
    for (const result of results) stored.set(result.seq, result);
    states.push(...endpoints.map(({ application_id }) => application_id));
  };
  const store = { deliveries: { record } as DeliveryStore };
  const recorder = createRecorder({ store, log: createLog("off"), progressed() {}, noticed() {} });
  for (let seq = 1; seq <= 100; seq++) void recorder.add(attemptResult({ seq }));
  recorder.addEndpoint(newEndpoint("app"));
  await recorder.settled();
  expect([...stored.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  const failed = [...stored.values()].filter(({ status }) => status !== "delivered");
  expect(failed.map(({ seq, status, attempt }) => [seq, status, attempt])).toEqual([[bad, "failed", null]]);
  expect(states).toEqual(["app"]);
  expect(recorder.unrecorded).toBe(0);
});

test("while the storage is unavailable, a batch is retried whole", async () => {
  const sizes: number[] = [];
  const record: DeliveryStore["record"] = async (results) => {
    sizes.push(results.length);
    if (sizes.length === 1) throw new DomainError("unavailable", "full");
  };
  const store = { deliveries: { record } as DeliveryStore };
  const time = new VirtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {} };
  const recorder = createRecorder({ ...options, timers: time.timers });
  for (let seq = 1; seq <= 3; seq++) void recorder.add(attemptResult({ seq }));
  const settled = recorder.settled();
  await time.pass(999, settle);
  expect(sizes).toEqual([3]);
  await time.pass(1, settle);
  await settled;
  expect(sizes).toEqual([3, 3]);
});

test("a write that does not end is tried again after 20 s, and counts as in progress from its beginning", async () => {
  let tries = 0;
  const record: DeliveryStore["record"] = () => {
    tries++;
    return tries === 1 ? new Promise(() => {}) : Promise.resolve();
  };
  const store = { deliveries: { record } as DeliveryStore };
  const { timers, monotonic, pass } = virtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {}, timers, monotonic };
  const recorder = createRecorder(options);
  const recorded = recorder.add(attemptResult({ seq: 1 }));
  await pass(250);
  expect([tries, recorder.writingMs]).toEqual([1, 0]);
  await pass(20_999);
  expect([tries, recorder.writingMs, recorder.unrecorded]).toEqual([1, 20_999, 1]);
  await pass(1);
  await recorded;
  expect([tries, recorder.unrecorded]).toEqual([2, 0]);
  await recorder.settled();
  expect(recorder.writingMs).toBe(0);
});

function virtualTime() {
  const time = new VirtualTime();
  return { timers: time.timers, monotonic: time.monotonic, pass: (ms: number) => time.pass(ms, settle) };
}

test("what another transaction locks is tried again, and holds up nothing else, but its own end", async () => {
  const stored: number[] = [];
  let isLocked = true;
  const record: DeliveryStore["record"] = async (results, states, notices = [], locked) => {
    const seqs = new Set(isLocked ? [1] : []);
    const applicationIds = new Set(isLocked ? ["app"] : []);
    for (const { seq } of results) if (!seqs.has(seq)) stored.push(seq);
    if (states.length + notices.length > 0 && !isLocked) stored.push(-states.length);
    locked?.({ seqs, applicationIds });
  };
  const store = { deliveries: { record } as DeliveryStore };
  const { timers, monotonic, pass } = virtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {}, timers, monotonic };
  const recorder = createRecorder(options);
  const ended: number[] = [];
  const add = (seq: number) => void recorder.add(attemptResult({ seq })).then(() => ended.push(seq));
  add(1);
  add(2);
  recorder.addEndpoint(newEndpoint("app"));
  await pass(250);
  add(3);
  await pass(250);
  // Its result, and the state of its endpoint.
  expect([stored, ended, recorder.unrecorded]).toEqual([[2, 3], [2, 3], 2]);
  await pass(9_750);
  expect(recorder.writingMs).toBe(10_000);
  isLocked = false;
  await pass(1_000);
  expect([stored, ended, recorder.unrecorded, recorder.writingMs]).toEqual([[2, 3, 1, -1], [2, 3, 1], 0, 0]);
  await recorder.settled();
});

test("a notice whose endpoint is locked is stored with a later state of the endpoint, in whatever order both are", async () => {
  let isLocked = true;
  let kept = newEndpoint("app");
  const stored: string[] = [];
  const record: DeliveryStore["record"] = async (_results, states, notices = [], locked) => {
    if (!isLocked) for (const state of states) if (state.revision > kept.revision) kept = state;
    // As in PostgreSQL: only if the state that the notice belongs to is the stored one.
    if (!isLocked && states.some((state) => Bun.deepEquals(state, kept)))
      stored.push(...notices.map(({ id }) => id));
    locked?.({ seqs: new Set(), applicationIds: new Set(isLocked ? ["app"] : []) });
  };
  const store = { deliveries: { record } as DeliveryStore };
  const { timers, monotonic, pass } = virtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {}, timers, monotonic };
  const recorder = createRecorder(options);
  const state = (revision: number) => ({ ...newEndpoint("app"), revision, failing_since: 1 });
  const notice = { id: "disabled", application_id: "app" } as NewNotice;
  recorder.addEndpoint(state(1), notice);
  await pass(150);
  recorder.addEndpoint(state(2));
  await pass(155);
  // The next try of the second state comes before that of the first one.
  isLocked = false;
  await pass(1_000);
  expect([kept.revision, stored, recorder.unrecorded]).toEqual([2, ["disabled"], 0]);
});

test.each([
  ["other transactions lock", async () => {}],
  ["cannot be stored any more", () => Promise.reject(new DomainError("unavailable", "The disk is full"))],
])("after the end of retries, nothing waits for a locked result that %s", async (_, storedAgain) => {
  let tries = 0;
  const record: DeliveryStore["record"] = async (_results, _states, _notices, locked) => {
    if (++tries > 1) await storedAgain();
    locked?.({ seqs: new Set([1]), applicationIds: new Set() });
  };
  const store = { deliveries: { record } as DeliveryStore };
  const { timers, monotonic, pass } = virtualTime();
  const options = { store, log: createLog("off"), progressed() {}, noticed() {}, timers, monotonic };
  const recorder = createRecorder(options);
  const recorded = recorder.add(attemptResult({ seq: 1 }));
  await pass(250);
  expect(recorder.unrecorded).toBe(1);
  recorder.giveUp();
  const settled = recorder.settled();
  await pass(2_000);
  await Promise.all([recorded, settled]);
  expect([recorder.unrecorded, recorder.writingMs]).toEqual([0, 0]);
});
