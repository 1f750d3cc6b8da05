import { beforeEach, describe, expect, test } from "bun:test";
import { DeliveryQueue, MemoryCapacity, type Priority, Scheduler } from "../../../src/delivery/scheduler.ts";
import type { DueDelivery } from "../../../src/domain/deliveries.ts";
import { someTurns } from "../../support/until.ts";

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

/** The fields of a delivery that a queue reads. */
function delivery(seq: number, attempts = 0): DueDelivery {
  return { seq, attempts, isSubscribed: true } as DueDelivery;
}

function queueOf(deliveries: readonly DueDelivery[]): DeliveryQueue {
  const queue = new DeliveryQueue();
  for (const one of deliveries) queue.push(one);
  return queue;
}

function drained(queue: DeliveryQueue): number[] {
  const seqs: number[] = [];
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) seqs.push(one.seq);
  return seqs;
}

const firsts = (...seqs: number[]) => seqs.map((seq) => delivery(seq));
const retries = (...seqs: number[]) => seqs.map((seq) => delivery(seq, 1));

describe("a delivery queue", () => {
  test.each([
    ["first attempts keep their order", firsts(1, 2, 3, 4, 5), [1, 2, 3, 4, 5]],
    ["so do retries", retries(1, 2, 3), [1, 2, 3]],
    [
      "a first attempt does not wait for retries before it",
      [...retries(1, 2, 3), ...firsts(4)],
      [4, 1, 2, 3],
    ],
    [
      "every fourth is a retry",
      [...firsts(1, 2, 3, 4, 5, 6, 7), ...retries(11, 12, 13)],
      [1, 2, 3, 11, 4, 5, 6, 12, 7, 13],
    ],
    ["an empty queue has none", [], []],
  ])("%s", (_, deliveries, order) => {
    expect(drained(queueOf(deliveries))).toEqual(order);
  });
});

describe("memory capacity", () => {
  let asked: string[];
  let capacity: MemoryCapacity<string>;
  let seq: number;
  beforeEach(() => {
    asked = [];
    capacity = new MemoryCapacity<string>((queue) => asked.push(queue));
    seq = 0;
  });

  const deliveries = (count: number) => Array.from({ length: count }, () => ({ seq: ++seq }));

  /** Has so many deliveries in memory, which were published to endpoints that have much or little. */
  function publish(count: number, isSmall: boolean) {
    for (let i = 0; i < count; i++) expect(capacity.reserve(isSmall)).toBe(true);
    capacity.use(count, count);
    return deliveries(count);
  }

  test("waiting queues are called in their order, one for each free slot", () => {
    const claimed = deliveries(2_100);
    capacity.add(claimed, false);
    const waiting = ["a", "b", "c", "d"];
    for (const queue of [...waiting, ...waiting]) expect(capacity.canClaim(queue, false)).toBe(false);
    capacity.free(claimed.splice(0, 52));
    expect(asked).toEqual([]);
    capacity.free(claimed.splice(0, 1));
    expect(asked).toEqual(["a"]);
    // An endpoint that is held up gives back all that it has at once. What was asked before it may have nothing to
    // claim any more, and then frees nothing for the others.
    capacity.free(claimed);
    expect(asked).toEqual(waiting);
    expect(capacity.queued).toBe(0);
  });

  test("a part is reserved for endpoints with few deliveries, also for their new ones in the store", () => {
    const published = publish(12_288, false);
    expect(capacity.reserve(false)).toBe(false);
    expect(capacity.canClaim("new", true)).toBe(true);
    publish(2_048, true);
    expect(capacity.reserve(true)).toBe(false);
    expect(capacity.canClaim("new", true)).toBe(false);
    capacity.free(published.slice(0, 1));
    expect(asked).toEqual(["new"]);
    expect(capacity.canClaim("new", true)).toBe(true);
  });

  test("backlogs and new deliveries have slots of their own", () => {
    const published = publish(12_288, false);
    expect(capacity.canClaim("old", false)).toBe(true);
    capacity.add(deliveries(2_048), false);
    expect(capacity.canClaim("old", false)).toBe(false);
    capacity.free(published);
    expect([asked, capacity.queued]).toEqual([[], 2_048]);
  });
});
