import { expect, test } from "bun:test";
import { replaying } from "../../../src/delivery/replays.ts";
import type { Replay, ReplayStore } from "../../../src/domain/replays.ts";
import { minute, second } from "../../../src/domain/time.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { supervise } from "../../../src/runtime/services.ts";
import { settle, VirtualTime } from "../../support/virtual-time.ts";

/**
 * The service over replays whose steps advance as given, except those of the replay "held", which fail; its calls are
 * in `done`. Replays with "dry" in their names only count.
 */
function service(running: readonly string[], steps: readonly boolean[] = [], holds = true) {
  const done: string[] = [];
  const left = [...steps];
  const replays: Pick<ReplayStore, "running" | "advance"> = {
    async running() {
      done.push("look");
      return running.map((id) => ({ application_id: `of ${id}`, id, dry_run: id.includes("dry") }) as Replay);
    },
    async advance(id) {
      done.push(`advance ${id}`);
      if (id === "held") throw new Error("another transaction holds it");
      return left.shift() ?? false;
    },
  };
  const dispatcher = { wake: () => void done.push("wake") };
  const stop = new AbortController();
  const time = new VirtualTime();
  const made = replaying({
    store: { replays: replays as ReplayStore },
    dispatcher,
    ownership: { holds: () => holds },
    now: time.now,
    monotonic: time.monotonic,
    timers: time.timers,
  });
  const afterMs = (ms: number) => time.pass(ms, settle);
  return { done, ...made, afterMs, stop, running: made.run(stop.signal) };
}

test("a wake-up during a poll is not lost", async () => {
  const { done, wake, stop, running } = service([]);
  wake();
  await settle();
  expect(done).toEqual(["look", "look"]);
  stop.abort();
  await running;
});

test("a replay goes on as soon as a delivery of its application was sent; others wait for theirs", async () => {
  const { done, afterMs, resume, stop, running } = service(["a", "b"], [false, false, true, false]);
  await afterMs(100);
  expect(done).toEqual(["look", "advance a", "advance b"]);
  resume("of another");
  resume("of a");
  await settle();
  expect(done.slice(3)).toEqual(["look", "advance a", "wake"]);
  await afterMs(25);
  expect(done.slice(6)).toEqual(["look", "advance a"]);
  await afterMs(75);
  expect(done.slice(8)).toEqual(["look", "advance b"]);
  stop.abort();
  await running;
});

test("of replays for endpoints of another process, only dry runs advance", async () => {
  const { done, stop, running } = service(["a", "dry"], [true], false);
  await settle();
  expect(done).toEqual(["look", "advance dry"]);
  stop.abort();
  await running;
});

test("a replay whose step fails holds up no other, and is tried again later", async () => {
  const failure = "Error: another transaction holds it";
  const { done, afterMs, stop, run, running } = service(["held", "b"], Array(1_000).fill(true));
  const first = running.catch(String);
  await afterMs(25);
  expect(await first).toBe(failure);
  expect(done).toEqual(["look", "advance held", "advance b", "wake"]);
  const count = (call: string) => done.filter((one) => one === call).length;
  // As its supervisor does.
  const second = run(stop.signal).catch(String);
  await afterMs(9_000);
  expect([count("advance held"), count("advance b")]).toEqual([1, 362]);
  await afterMs(2_000);
  expect(await second).toBe(failure);
  expect(count("advance held")).toBe(2);
  stop.abort();
});

/**
 * The steps of each replay in `lastMs`. In the first `heldMs`, those whose names begin with "held" fail when the storage
 * has waited `stepMs` for a lock; their calls are in `tries`.
 */
async function stepsBeside(
  running: readonly Pick<Replay, "id" | "application_id" | "dry_run">[],
  { lastMs = 10 * minute, heldMs = Number.POSITIVE_INFINITY, stepMs = 10 * second } = {},
) {
  const time = new VirtualTime();
  const steps = new Map<string, number>();
  const tries = new Map<string, number>();
  const replays: Pick<ReplayStore, "running" | "advance"> = {
    running: async () => running as Replay[],
    async advance(id) {
      const isHeld = id.startsWith("held") && time.monotonic() < heldMs;
      const counts = isHeld ? tries : steps;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      if (!isHeld) return true;
      await time.timers.pause(stepMs);
      throw new Error("canceling statement due to statement timeout");
    },
  };
  const made = replaying({
    store: { replays: replays as ReplayStore },
    dispatcher: { wake() {} },
    ownership: { holds: () => true },
    now: time.now,
    monotonic: time.monotonic,
    timers: time.timers,
  });
  const supervised = supervise([made], createLog("off"), time.timers);
  await time.pass(lastMs, settle);
  const stopped = supervised.stop();
  await time.pass(10 * second, settle);
  await stopped;
  return { steps, tries };
}

const possible = (10 * minute) / 25;
const held = (n: number, application_id: string, dry_run = false) => ({
  id: `held ${n}`,
  application_id,
  dry_run,
});
const free = (id: string, application_id = id) => ({ id, application_id, dry_run: false });

test.each([
  ["two of one application", [held(1, "one"), held(2, "one")]],
  ["three of one application", [held(1, "one"), held(2, "one"), held(3, "one")]],
  ["three of three applications", [held(1, "one"), held(2, "two"), held(3, "three")]],
  ["three dry runs of one application", [held(1, "one", true), held(2, "one", true), held(3, "one", true)]],
  ["thirty of thirty applications", Array.from({ length: 30 }, (_, n) => held(n, `${n}`))],
])(
  "while another transaction holds %s, a replay of another application goes on, and each is tried",
  async (_, holding) => {
    const { steps, tries } = await stepsBeside([...holding, free("other")]);
    expect(steps.get("other")).toBeGreaterThan(possible / 10);
    expect(tries.size).toBe(holding.length);
  },
);

test("while a replay is held, another of its application goes on", async () => {
  const { steps } = await stepsBeside([held(1, "one"), free("beside", "one"), free("other")]);
  expect(steps.get("beside")).toBeGreaterThan(possible / 10);
});

test("after an outage, the first replay that goes on makes all others go on", async () => {
  const all = Array.from({ length: 30 }, (_, i) => held(i, `application ${i}`));
  const { steps } = await stepsBeside(all, { heldMs: 5 * minute, lastMs: 10 * minute });
  expect(all.filter(({ id }) => (steps.get(id) ?? 0) === 0)).toEqual([]);
});

test("a step during which the process was suspended for an hour delays its replay by minutes", async () => {
  const { steps } = await stepsBeside([held(1, "one")], {
    stepMs: 60 * minute,
    heldMs: minute,
    lastMs: 66 * minute,
  });
  expect(steps.get("held 1")).toBeGreaterThan(0);
});
