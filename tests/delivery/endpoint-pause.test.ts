import { beforeEach, describe, expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import type { Answer } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { type OwnEndpoint, ownEndpoint } from "./fixtures/own-endpoint.ts";

let endpoint: OwnEndpoint;
beforeEach(async () => {
  endpoint = await ownEndpoint();
});

const tooManyRequests = (seconds: number) =>
  new Response(null, { status: 429, headers: { "retry-after": String(seconds) } });

test("an endpoint that answers 429 gets no other event before Retry-After is over", async () => {
  const { receiver } = await endpoint.subscribed(() => tooManyRequests(60));
  await endpoint.publish();
  await receiver.arrived(1);
  await endpoint.settled();
  await endpoint.publish();
  await endpoint.receiver.arrived(2);
  await endpoint.settled();
  expect(receiver.received.length).toBe(1);
});

describe("a stored pause of an endpoint that answered 429", () => {
  const answeringFirst =
    (first: () => Response | Promise<Response>, later: () => Response): Answer =>
    (_, number) =>
      number === 1 ? first() : later();
  const accepted = () => new Response(null, { status: 204 });
  const patience = () => tooManyRequests(3600);

  test("moves with the clock, also when an earlier attempt succeeds after it", async () => {
    const held = Promise.withResolvers<Response>();
    const { app, receiver } = await endpoint.subscribed(answeringFirst(() => held.promise, patience));
    await endpoint.publish();
    await receiver.arrived(1);
    await endpoint.publish();
    await receiver.arrived(2);
    const stored = () => endpoint.stored(app.id);
    await until(async () => (await stored())?.paused_until != null);
    held.resolve(accepted());
    await until(async () => (await stored())?.failing_since === null);
    const left = async () => ((await stored())?.paused_until ?? 0) - endpoint.clock.ms;
    const before = await left();
    endpoint.clock.advance(12 * hour);
    await endpoint.sendDue();
    await until(async () => (await left()) === before);
  });
});
