import { beforeEach, describe, expect, test } from "bun:test";
import { hour, minute, second } from "../../src/domain/time.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { ownReceiver } from "../support/receiver.ts";
import { type OwnEndpoint, ownEndpoint } from "./fixtures/own-endpoint.ts";

let endpoint: OwnEndpoint;
beforeEach(async () => {
  endpoint = await ownEndpoint();
});

describe("an endpoint that fails for 24 hours", () => {
  /** A first failure, a restart, and a failure every hour until the endpoint is disabled. */
  async function failForADay(): Promise<void> {
    endpoint.answers.status = 500;
    await endpoint.publish();
    await endpoint.receiver.arrived(1);
    await endpoint.settled();
    expect(await endpoint.stored()).toMatchObject({ failures: 1, disabled_at: null });
    await endpoint.pass(5 * minute);
    await endpoint.restart();
    for (let passed = 0; passed < 24; passed++) {
      await endpoint.publish();
      await endpoint.pass(hour);
    }
  }

  test("is disabled, also over a restart; what is published then is delivered when it is enabled", async () => {
    const since = endpoint.clock.ms;
    await failForADay();
    const stored = await endpoint.stored();
    expect(stored).toMatchObject({ failing_since: since, disabled_reason: "failing" });
    expect((stored?.disabled_at ?? 0) - since).toBeGreaterThanOrEqual(24 * hour);
    const before = endpoint.receiver.received.length;
    endpoint.answers.status = 204;
    const ids = Array.from({ length: 20 }, (_, i) => `kept-${i}`);
    for (const id of ids) await endpoint.publish({ id });
    await endpoint.pass(hour);
    expect(endpoint.receiver.received.length).toBe(before);
    await endpoint.server.app.engine.enable(endpoint.app.id);
    await endpoint.settled();
    const sent = endpoint.receiver.received.slice(before).map(({ headers }) => headers["onair-event-id"]);
    expect(sent).toEqual(expect.arrayContaining(ids));
    expect(await endpoint.pending()).toEqual([]);
    expect(await endpoint.stored()).toMatchObject({ failing_since: null, disabled_at: null });
  });
});

test("an endpoint that answers 410 is disabled at once, and the delivery has failed; another URL is tried again", async () => {
  endpoint.answers.status = 410;
  await endpoint.publish();
  await endpoint.receiver.arrived(1);
  await endpoint.settled();
  expect(await endpoint.stored()).toMatchObject({ disabled_reason: "gone", last_failure_status: 410 });
  expect(await endpoint.pending()).toEqual([]);
  await endpoint.publish();
  await endpoint.pass(hour);
  expect(endpoint.receiver.received.length).toBe(1);
  const other = ownReceiver();
  afterThisTest(endpoint.settled);
  const path = `/admin/v1/applications/${endpoint.app.id}`;
  expect((await endpoint.server.admin("PATCH", path, { webhook_url: other.url })).status).toBe(200);
  await other.arrived(1);
  expect(await endpoint.stored()).toMatchObject({ disabled_at: null, failing_since: null });
});

test("after five failures in a row only a probe is sent, and waiting uses up no attempts", async () => {
  const { receiver } = endpoint;
  endpoint.answers.status = 500;
  await endpoint.publishMany(40);
  await receiver.arrived(5);
  await endpoint.settled();
  const tried = receiver.received.length;
  // Only attempts that were under way at the fifth failure.
  expect(tried).toBeLessThan(20);
  await endpoint.pass(3 * second);
  expect(receiver.received.length).toBe(tried);
  await endpoint.pass(3 * second);
  expect(receiver.received.length).toBe(tried + 1);
  endpoint.answers.status = 204;
  await endpoint.pass(minute);
  await endpoint.pass(10 * minute);
  const attempts = receiver.received.map(({ headers }) => Number(headers["onair-attempt"]));
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(40);
  expect(Math.max(...attempts)).toBeLessThanOrEqual(3);
  expect(await endpoint.pending()).toEqual([]);
});
