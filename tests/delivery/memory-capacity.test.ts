import { beforeEach, describe, expect, test } from "bun:test";
import { MemoryCapacity } from "../../src/delivery/scheduler.ts";

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
