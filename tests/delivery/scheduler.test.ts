import { describe, expect, test } from "bun:test";
import { type Priority, Scheduler } from "../../src/delivery/scheduler.ts";
import { someTurns } from "../support/until.ts";

const { signal } = new AbortController();
const always = { mayRun: () => true, signal };
const nothingNew = (): Priority => "backlog";

describe("the scheduler", () => {
  test("takes turns, so that a long backlog of one delays no other", async () => {
    const left = new Map([
      ["long", 5],
      ["short", 2],
    ]);
    const order: string[] = [];
    const scheduler = new Scheduler<string>(nothingNew);
    scheduler.start({
      ...always,
      step(one) {
        const more = (left.get(one) ?? 0) - 1;
        left.set(one, more);
        order.push(one);
        return more > 0;
      },
    });
    scheduler.add("long");
    scheduler.add("short");
    scheduler.add("long");
    await someTurns();
    expect(order).toEqual(["long", "short", "long", "short", "long", "long", "long"]);
  });

  test("lets the event loop go on after some milliseconds", async () => {
    let steps = 0;
    const scheduler = new Scheduler<string>(nothingNew);
    scheduler.start({
      ...always,
      step() {
        const until = performance.now() + 3;
        while (performance.now() < until);
        return ++steps < 10;
      },
    });
    scheduler.add("one");
    let others = 0;
    while (steps < 10) {
      await new Promise(setImmediate);
      others++;
    }
    expect(others).toBeGreaterThan(2);
  });

  test("waits while nothing may run, and then goes on with the next", async () => {
    let may = false;
    const ran: string[] = [];
    const scheduler = new Scheduler<string>(nothingNew);
    scheduler.start({
      signal,
      step(one) {
        ran.push(one);
        return false;
      },
      mayRun: () => may,
    });
    scheduler.add("a");
    scheduler.add("b");
    await someTurns();
    expect(ran).toEqual([]);
    may = true;
    scheduler.resume();
    await someTurns();
    expect(ran).toEqual(["a", "b"]);
  });

  test("lets the priorities take turns, however many queues there are of each", async () => {
    const order: string[] = [];
    const priorities = new Map<string, Priority>();
    const scheduler = new Scheduler<string>((one) => priorities.get(one) ?? "backlog");
    scheduler.start({
      ...always,
      step(one) {
        order.push(one);
        priorities.delete(one);
        return false;
      },
    });
    for (let i = 0; i < 100; i++) scheduler.add(`old ${i}`);
    for (let i = 0; i < 100; i++) {
      priorities.set(`bulk ${i}`, "bulk");
      scheduler.add(`bulk ${i}`);
    }
    for (const one of ["old 50", "bulk 50", "new"]) {
      priorities.set(one, "new");
      scheduler.add(one);
    }
    await someTurns();
    expect(order.slice(0, 9)).toEqual([
      ...["old 50", "bulk 0", "old 0"],
      ...["bulk 50", "bulk 1", "old 1"],
      ...["new", "bulk 2", "old 2"],
    ]);
    expect(new Set(order).size).toBe(201);
    expect(order.length).toBe(201);
  });

  test("keeps no memory for queues of a priority that may not run, once they ran with a higher one", async () => {
    let priority: Priority = "backlog";
    const scheduler = new Scheduler<object>(() => priority);
    scheduler.start({ signal, mayRun: (one) => one === "new", step: () => false });
    const refs: WeakRef<object>[] = [];
    const runAsNew = (): void => {
      const queue = {};
      refs.push(new WeakRef(queue));
      for (priority of ["backlog", "new"] as const) scheduler.add(queue);
    };
    for (let n = 0; n < 1_000; n++) {
      runAsNew();
      await new Promise(setImmediate);
    }
    Bun.gc(true);
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(300);
  });
});
