import { expect, test } from "bun:test";
import { MemoryCapacity } from "../../src/webhooks/queues/memory-capacity.ts";

test("queues that wait for capacity are asked in their order, one for each place that is free", () => {
  const asked: string[] = [];
  const capacity = new MemoryCapacity<string>((queue) => asked.push(queue));
  capacity.claimed(2_100);
  const waiting = ["a", "b", "c", "d"];
  for (const queue of [...waiting, ...waiting]) expect(capacity.canClaim(queue)).toBe(false);
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
