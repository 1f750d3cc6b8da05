import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import type { PublishToEngine } from "../../src/domain/deliveries.ts";
import { Catalogue } from "../../src/domain/events/catalogue.ts";
import { second } from "../../src/domain/time.ts";
import { createPublisher } from "../../src/platform/publisher.ts";
import { event } from "../support/publishing.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test.each(["publish", "publishAll"] as const)(
  "a %s that the storage does not end is refused after 20 s, and is in progress until it ends",
  async (name) => {
    const stored = Promise.withResolvers<never>();
    const sink: PublishToEngine = { publish: () => stored.promise, publishAll: () => stored.promise };
    const publisher = createPublisher(sink, { now: Date.now, catalogue: new Catalogue() });
    const input = event("channel.followed", { broadcaster_user_id: 1 });
    const work =
      name === "publish" ? publisher.publish(input) : publisher.publishAll([publisher.read(input)]);
    let outcome: unknown = null;
    const ended = work.catch((error: unknown) => {
      outcome = error;
    });
    jest.advanceTimersByTime(20 * second - 1);
    await Promise.resolve();
    expect(outcome).toBeNull();
    jest.advanceTimersByTime(1);
    await ended;
    expect(outcome).toMatchObject({ code: "unavailable", details: { retryAfterSeconds: 5 } });
    expect(publisher.oldestMs).toBeGreaterThan(0);
    stored.reject(new Error("ended at last"));
    await stored.promise.catch(() => {});
    expect(publisher.oldestMs).toBe(0);
  },
);
