import { expect, test } from "bun:test";
import { replaying } from "../../../src/delivery/replays.ts";
import type { Replay, ReplayStore } from "../../../src/domain/replays.ts";
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
