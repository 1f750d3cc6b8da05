import { beforeEach, describe, expect, test } from "bun:test";
import { day, hour, minute } from "../../src/domain/time.ts";
import { dispatching, gone, ok } from "../support/dispatching.ts";
import { isOnPostgres } from "../support/server.ts";
import { ownStore, storedAt, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";
import { type OwnEndpoint, ownEndpoint } from "./fixtures/own-endpoint.ts";

let endpoint: OwnEndpoint;
beforeEach(async () => {
  endpoint = await ownEndpoint();
});

/** Publishes an event and waits until its first attempt has failed. */
async function failOnce(): Promise<void> {
  endpoint.answers.status = 500;
  await endpoint.publish();
  await endpoint.receiver.arrived(1);
  await endpoint.settled();
}

test("an endpoint is not disabled because the clock is set a day ahead, or back", async () => {
  await failOnce();
  // A monotonic clock has fractions of milliseconds, which a database does not take.
  endpoint.monotonic.advance(0.3);
  endpoint.clock.advance(24 * hour);
  await endpoint.sendDue();
  const stored = await endpoint.stored();
  expect(stored).toMatchObject({ failures: 2, disabled_at: null });
  expect(Number.isInteger(stored?.failing_since)).toBe(true);
  expect(endpoint.clock.ms - (stored?.failing_since ?? 0)).toBeLessThan(minute);
  endpoint.clock.advance(-25 * hour);
  endpoint.answers.status = 204;
  await endpoint.receiver.next(() => endpoint.publish());
});

describe("a retry that was scheduled while the clock was a year ahead", () => {
  beforeEach(async () => {
    endpoint.clock.advance(365 * day);
    await failOnce();
    expect((await endpoint.pending())[0]?.due_at).toBeGreaterThan(endpoint.clock.ms);
    endpoint.answers.status = 204;
  });

  test("is due when the clock is set back", async () => {
    endpoint.clock.advance(-365 * day);
    await endpoint.publish();
    await endpoint.receiver.arrived(3);
    await endpoint.settled();
    expect(await endpoint.pending()).toEqual([]);
  });

  test("is due when the server is started on the right clock", async () => {
    await endpoint.restart({ advance: -365 * day });
    await endpoint.receiver.arrived(2);
    await endpoint.settled();
    expect(await endpoint.pending()).toEqual([]);
  });
});

test("a retry of tomorrow stays when the server is started on a clock that was set back a day", async () => {
  await failOnce();
  const pending = await endpoint.pending();
  expect(pending).toHaveLength(1);
  await endpoint.restart({ advance: -day });
  expect(await endpoint.pending()).toEqual(pending);
});

test("a stored pause by Retry-After moves with the clock, also when an earlier attempt succeeds after it", async () => {
  const held = Promise.withResolvers<Response>();
  const paused = new Response(null, { status: 429, headers: { "retry-after": "3600" } });
  const { app, receiver } = await endpoint.subscribed((_, number) => (number === 1 ? held.promise : paused));
  for (const count of [1, 2]) {
    await endpoint.publish();
    await receiver.arrived(count);
  }
  const stored = () => endpoint.stored(app.id);
  await until(async () => (await stored())?.paused_until != null);
  held.resolve(new Response(null, { status: 204 }));
  await until(async () => (await stored())?.failing_since === null);
  const left = async () => ((await stored())?.paused_until ?? 0) - endpoint.clock.ms;
  const before = await left();
  endpoint.clock.advance(12 * hour);
  await endpoint.sendDue();
  await until(async () => (await left()) === before);
});

// On PostgreSQL the clock of the database, which this test does not set, counts as well.
test.skipIf(isOnPostgres)(
  "a retry whose result is written behind the setting back of the clock is due, too",
  async () => {
    const { store } = await ownStore();
    await subscriber(store);
    const disk = Promise.withResolvers<void>();
    const clock = { ms: storedAt + 3 * day };
    const one = dispatching(store, {
      clock,
      async record(...batch) {
        await disk.promise;
        await store.deliveries.record(...batch);
      },
    });
    await one.publish("e1");
    await until(() => one.sent.length === 1);
    one.sent[0]?.answer({ ...gone, status: 500 });
    await until(() => one.dispatcher.stats.unrecorded === 1);
    clock.ms = storedAt;
    await one.publish("e2");
    await until(() => one.sent.length === 2);
    one.sent[1]?.answer(ok);
    disk.resolve();
    await until(() => one.sent.length === 3);
    one.sent[2]?.answer(ok);
    await one.stop();
  },
);
