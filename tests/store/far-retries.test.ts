import { expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { attemptResult, newEvent, ownStore, subscriber } from "../support/store.ts";

/*
 * A clock that was far ahead has given retries their time. PostgreSQL's own clock counts, too, so it is now here.
 */

const now = Date.now();

test("a retry of the schedule whose time is too far remains one of the schedule when it is made due", async () => {
  const { store } = await ownStore();
  const application = await subscriber(store);
  const far = { status: "pending", next_attempt_at: now + 1_000 * hour } as const;
  const ofSchedule = { ...far, resume_at: null };
  const asked = { ...far, resume_at: now + 2_000 * hour };
  const near = { status: "pending", next_attempt_at: now + 28 * hour, resume_at: null } as const;
  for (const id of ["of the schedule", "asked", "near"])
    await store.events.publish(newEvent(id), () => false);
  const { due } = await store.deliveries.claim(application, now, 8);
  expect(due).toHaveLength(3);
  const results = [ofSchedule, asked, near].map((fields, i) => attemptResult(due[i], fields));
  await store.deliveries.record(results, []);

  await store.deliveries.makeFarRetriesDue(now, now + 30 * hour);
  const again = await store.deliveries.claim(application, now, 8);
  expect(again.due.map(({ event, resume_at }) => [event.id, resume_at])).toEqual([
    ["of the schedule", null],
    ["asked", now],
  ]);
});
