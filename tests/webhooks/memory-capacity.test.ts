import { beforeEach, describe, expect, test } from "bun:test";
import { MemoryCapacity } from "../../src/webhooks/queues/memory-capacity.ts";

describe("memory capacity", () => {
  let asked: string[];
  let capacity: MemoryCapacity<string>;
  beforeEach(() => {
    asked = [];
    capacity = new MemoryCapacity<string>((queue) => asked.push(queue));
  });

  /** Has so many deliveries in memory, which were published to endpoints that have much or little. */
  function publish(count: number, hasLittle: boolean): void {
    for (let i = 0; i < count; i++) expect(capacity.reserve(hasLittle)).toBe(true);
    capacity.use(count, count);
  }

  test("queues that wait for it are asked in their order, one for each place that is free", () => {
    publish(2_100, false);
    const waiting = ["a", "b", "c", "d"];
    for (const queue of [...waiting, ...waiting]) expect(capacity.canClaim(queue, false)).toBe(false);
    capacity.free(52);
    expect(asked).toEqual([]);
    capacity.free(1);
    expect(asked).toEqual(["a"]);
    // An endpoint that is held up gives back all that it has at once. What was asked before it may have nothing to claim any
    // more, and then frees nothing for the others.
    capacity.free(2_047);
    expect(asked).toEqual(waiting);
    expect(capacity.queued).toBe(0);
  });

  test("a part is left for endpoints that have little, and for what is new of them in the store", () => {
    publish(14_336, false);
    expect(capacity.reserve(false)).toBe(false);
    expect(capacity.canClaim("old", false)).toBe(false);
    expect(capacity.canClaim("new", true)).toBe(true);
    publish(2_048, true);
    expect(capacity.reserve(true)).toBe(false);
    expect(capacity.canClaim("new", true)).toBe(false);
    capacity.free(1);
    expect(asked).toEqual(["new"]);
    expect(capacity.canClaim("new", true)).toBe(true);
  });
});
