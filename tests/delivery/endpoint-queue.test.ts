import { describe, expect, test } from "bun:test";
import { EndpointQueue } from "../../src/delivery/endpoint.ts";
import type { Priority } from "../../src/delivery/queue.ts";
import type { DueDelivery } from "../../src/domain/deliveries.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";

/** Deliveries with the fields that a queue reads. */
const waiting = (attempts: number, seqs: readonly number[]) =>
  seqs.map((seq) => ({ seq, attempts, isSubscribed: true }) as DueDelivery);
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
  ])("takes a new delivery into memory: %s", (_, state, canTake) => {
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

  test.each<[string, Partial<EndpointQueue>, DueDelivery[], Priority]>([
    ["a first attempt is in memory", {}, firsts(1), "new"],
    ["only retries are", { retryAt: at }, retries(1), "backlog"],
    ["first attempts wait before it in the store", { hasBacklog: true }, firsts(1), "backlog"],
    ["those in the store are new", { hasBacklog: true, claimsAsNew: 1 }, [], "new"],
  ])("has a priority: %s", (_, state, queued, priority) => {
    expect(queueWith(state, queued).priority).toBe(priority);
  });

  test("is one of a bulk until the first attempts up to the last one of the bulk have started", () => {
    const queue = queueWith({}, firsts(1));
    for (const one of firsts(2)) queue.deliveries.push(one, true);
    for (const one of firsts(3)) queue.deliveries.push(one);
    const priorities = [1, 2, 3].map(() => {
      const { priority } = queue;
      return [priority, queue.deliveries.shift()?.seq];
    });
    expect(priorities).toEqual([
      ["bulk", 1],
      ["bulk", 2],
      ["new", 3],
    ]);
  });

  test("has a backlog that is new only where nothing older waits in the store", () => {
    const queue = queueWith({});
    queue.addBacklog(3);
    queue.addBacklog(8);
    expect(queue.claimsAsNew).toBe(3);
    queue.addBacklog(0);
    queue.addBacklog(8);
    expect([queue.claimsAsNew, queue.priority]).toEqual([0, "backlog"]);
  });

  test("passes over the stored pause that a person asked to lift, and no pause of a later generation", () => {
    const queue = new EndpointQueue("application", 8);
    const pausedAt = (generation: number) => {
      const failed = { failing_since: at, last_failure_at: at, paused_until: at + 1_000 };
      return { ...newEndpoint("application", generation), ...failed };
    };
    queue.beginGeneration(1, at);
    queue.resume(at);
    queue.restore(pausedAt(1), at);
    expect(queue.isHeldUp(at)).toBe(false);
    queue.beginGeneration(2, at);
    queue.restore(pausedAt(2), at);
    expect(queue.isHeldUp(at)).toBe(true);
  });
});
