import { expect, test } from "bun:test";
import { attemptResult, newEvent, ownStore, storedAt, subscriber } from "../support/store.ts";

test("a claim returns first attempts in the order of publishing, then retries in the order of their times", async () => {
  const { store } = await ownStore();
  const application = await subscriber(store);
  for (const id of ["late", "early"]) await store.events.publish(newEvent(id), () => false);
  const { due } = await store.deliveries.claim(application, storedAt, 8);
  const retryAt = new Map([
    ["late", storedAt + 2_000],
    ["early", storedAt + 1_000],
  ]);
  const results = due.map((one) =>
    attemptResult(one, { status: "pending", next_attempt_at: retryAt.get(one.event.id) ?? null }),
  );
  await store.deliveries.record(results, []);
  for (const id of ["first", "second"]) await store.events.publish(newEvent(id), () => false);

  const again = await store.deliveries.claim(application, storedAt + 3_000, 8);
  expect(again.due.map(({ event }) => event.id)).toEqual(["first", "second", "early", "late"]);
});
