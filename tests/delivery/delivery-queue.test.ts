import { describe, expect, test } from "bun:test";
import { DeliveryQueue } from "../../src/delivery/scheduler.ts";
import type { DueDelivery } from "../../src/domain/deliveries.ts";

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

  test("counts first attempts and retries, and can be cleared", () => {
    const queue = queueOf([...retries(1, 2), ...firsts(3)]);
    expect([queue.length, queue.firsts, queue.retries]).toEqual([3, 1, 2]);
    expect(queue.clear().map(({ seq }) => seq)).toEqual([3, 1, 2]);
    expect([queue.length, queue.firsts, queue.retries]).toEqual([0, 0, 0]);
  });

  test("changes deliveries without changing their order", () => {
    const queue = queueOf([...retries(1), ...firsts(2, 3)]);
    queue.change((one) => (one.seq === 3 ? one : { ...one, isSubscribed: false }));
    expect(queue.items().map(({ seq, isSubscribed }) => [seq, isSubscribed])).toEqual([
      [2, false],
      [3, true],
      [1, false],
    ]);
  });
});
