import { describe, expect, test } from "bun:test";
import type { DueDelivery } from "../../src/domain/deliveries.ts";
import { EndpointQueue } from "../../src/webhooks/queues/endpoint-queue.ts";

/** As much of deliveries as a queue reads. */
const waiting = (attempts: number, seqs: readonly number[]) =>
  seqs.map((seq) => ({ seq, attempts, isWanted: true }) as DueDelivery);
const firsts = (...seqs: number[]) => waiting(0, seqs);
const retries = (...seqs: number[]) => waiting(1, seqs);

const at = 1_000_000;

function queueWith(state: Partial<EndpointQueue>, queued: readonly DueDelivery[] = []): EndpointQueue {
  const queue = Object.assign(new EndpointQueue("application", 64), state);
  for (const one of queued) queue.deliveries.push(one);
  return queue;
}

describe("an endpoint queue", () => {
  test.each<[string, Partial<EndpointQueue>, boolean]>([
    ["where nothing waits", {}, true],
    ["although retries are due", { retryAt: at - 1 }, true],
    ["not before first attempts that wait in the store", { hasBacklog: true }, false],
    ["not while some of them are being claimed", { isClaiming: true }, false],
    ["not while some of them are on their way back into it", { returning: 1 }, false],
  ])("takes what is published now into memory: %s", (_, state, canTake) => {
    expect(queueWith(state).canTake(at)).toBe(canTake);
  });

  test.each<[string, Partial<EndpointQueue>, DueDelivery[], boolean]>([
    ["nothing waits", {}, [], false],
    ["first attempts wait", { hasBacklog: true }, [], true],
    ["they wait, and enough is queued", { hasBacklog: true }, firsts(1, 2, 3, 4), false],
    ["retries are due", { retryAt: at }, [], true],
    ["retries are due, and many first attempts are queued", { retryAt: at }, firsts(1, 2, 3, 4, 5, 6), true],
    ["retries are due, and enough of them are queued", { retryAt: at }, retries(1, 2, 3, 4), false],
    ["retries are not due yet", { retryAt: at + 1 }, [], false],
    ["a claim is under way", { retryAt: at, isClaiming: true }, [], false],
    ["older first attempts are on their way back", { hasBacklog: true, returning: 1 }, [], false],
  ])("claims from the store: %s", (_, state, queued, needsClaim) => {
    expect(queueWith(state, queued).needsClaim(at)).toBe(needsClaim);
  });
});
