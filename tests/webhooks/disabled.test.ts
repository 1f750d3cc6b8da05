import { beforeEach, describe, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { dispatching, gone, ok } from "../support/dispatching.ts";
import { stores, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";

describe.each(stores)("$name", ({ empty }) => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await empty());
  });

  test("an endpoint that was disabled while an attempt succeeded is still known as that by the next process", async () => {
    const application = await subscriber(store);
    const one = dispatching(store);
    await one.publish("gone");
    await one.publish("taken");
    await until(() => one.sent.length === 2);
    one.sent[0]?.answer(gone);
    await until(async () => Boolean((await store.endpoints.find(application))?.disabled_at));
    one.sent[1]?.answer(ok);
    await one.settled();
    await one.stop();
    const known = await store.endpoints.failing();
    expect(known).toEqual([
      expect.objectContaining({ application_id: application, disabled_reason: "gone", failing_since: null }),
    ]);

    const next = dispatching(store);
    await next.settled();
    // Kept in the store, where it can expire: in memory it would take a place until somebody enables the endpoint.
    await next.publish("kept");
    await next.settled();
    expect(next.dispatcher.stats).toMatchObject({ queued: 0, heldUp: 1 });
    expect(await store.deliveries.pending()).toEqual([{ application_id: application, due_at: 0 }]);
    next.receiver.answersAll = true;
    await next.dispatcher.enable(application);
    await until(() => next.sent.length === 1);
    await next.stop();
  });
});
