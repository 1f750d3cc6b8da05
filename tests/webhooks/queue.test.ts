import { describe, expect, test } from "bun:test";
import type { DueDelivery } from "../../src/domain/deliveries.ts";
import { Lane } from "../../src/webhooks/lane.ts";
import { Queue } from "../../src/webhooks/queue.ts";

/** As much of a delivery as a queue sees. */
function delivery(seq: number, attempts = 0): DueDelivery {
  return { seq, attempts, isWanted: true } as DueDelivery;
}

function queueOf(deliveries: readonly DueDelivery[]): Queue {
  const queue = new Queue();
  for (const one of deliveries) queue.push(one);
  return queue;
}

function drained(queue: Queue): number[] {
  const seqs: number[] = [];
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) seqs.push(one.seq);
  return seqs;
}

const firsts = (...seqs: number[]) => seqs.map((seq) => delivery(seq));
const retries = (...seqs: number[]) => seqs.map((seq) => delivery(seq, 1));

describe("a queue", () => {
  test.each([
    ["first attempts keep their order", firsts(1, 2, 3, 4, 5), [1, 2, 3, 4, 5]],
    ["so do retries", retries(1, 2, 3), [1, 2, 3]],
    [
      "a first attempt does not wait for retries before it",
      [...retries(1, 2, 3), ...firsts(4)],
      [4, 1, 2, 3],
    ],
    [
      "every fourth place is for a retry",
      [...firsts(1, 2, 3, 4, 5, 6, 7), ...retries(11, 12, 13)],
      [1, 2, 3, 11, 4, 5, 6, 12, 7, 13],
    ],
    ["nothing comes of nothing", [], []],
  ])("%s", (_, deliveries, order) => {
    expect(drained(queueOf(deliveries))).toEqual(order);
  });

  test("tells how many of each it has, and gives all of them up", () => {
    const queue = queueOf([...retries(1, 2), ...firsts(3)]);
    expect([queue.length, queue.firsts, queue.retries]).toEqual([3, 1, 2]);
    expect(queue.clear().map(({ seq }) => seq)).toEqual([3, 1, 2]);
    expect([queue.length, queue.firsts, queue.retries]).toEqual([0, 0, 0]);
  });

  test("changes what is in it and leaves the order", () => {
    const queue = queueOf([...retries(1), ...firsts(2, 3)]);
    queue.change((one) => (one.seq === 3 ? one : { ...one, isWanted: false }));
    expect(queue.items().map(({ seq, isWanted }) => [seq, isWanted])).toEqual([
      [2, false],
      [3, true],
      [1, false],
    ]);
  });
});

const at = 1_000_000;

function laneWith(state: Partial<Lane>, queued: readonly DueDelivery[] = []): Lane {
  const lane = Object.assign(new Lane("application", 64), state);
  for (const one of queued) lane.queue.push(one);
  return lane;
}

describe("a lane", () => {
  test.each<[string, Partial<Lane>, boolean]>([
    ["where nothing waits", {}, true],
    ["although retries are due", { retryAt: at - 1 }, true],
    ["not before first attempts that wait in the store", { isBehind: true }, false],
    ["not while some of them are being claimed", { isClaiming: true }, false],
    ["not while some of them are on their way back into it", { returning: 1 }, false],
  ])("starts what is published now at once: %s", (_, state, isUpToDate) => {
    expect(laneWith(state).isUpToDate(at)).toBe(isUpToDate);
  });

  test.each<[string, Partial<Lane>, DueDelivery[], boolean]>([
    ["nothing waits", {}, [], false],
    ["first attempts wait", { isBehind: true }, [], true],
    ["they wait, and enough is queued", { isBehind: true }, firsts(1, 2, 3, 4), false],
    ["retries are due", { retryAt: at }, [], true],
    ["retries are due, and many first attempts are queued", { retryAt: at }, firsts(1, 2, 3, 4, 5, 6), true],
    ["retries are due, and enough of them are queued", { retryAt: at }, retries(1, 2, 3, 4), false],
    ["retries are not due yet", { retryAt: at + 1 }, [], false],
    ["a claim is under way", { retryAt: at, isClaiming: true }, [], false],
    ["older first attempts are on their way back", { isBehind: true, returning: 1 }, [], false],
  ])("claims from the store: %s", (_, state, queued, needsClaim) => {
    expect(laneWith(state, queued).needsClaim(at)).toBe(needsClaim);
  });
});
