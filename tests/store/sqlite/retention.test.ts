import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { DeliveryStatus } from "../../../src/domain/deliveries.ts";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day } from "../../../src/domain/time.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { temporaryDirectory } from "../../support/server.ts";
import { attemptResult, newEvent, subscriber } from "../../support/store.ts";

const now = Date.parse("2026-06-01T00:00:00.000Z");
const retention = { deliveredMs: 3 * day, failedMs: 10 * day, bodiesMs: 2 * day };
const directory = temporaryDirectory();
let store: Store;
let applicationId: string;

beforeEach(async () => {
  directory.remove();
  store = openStore(directory.path);
  applicationId = await subscriber(store);
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

/** An event from `daysAgo` whose delivery has ended in some state. */
async function past(daysAgo: number, status: DeliveryStatus): Promise<void> {
  const published_at = now - daysAgo * day;
  await store.events.publish(newEvent(`${status}-${daysAgo}`, { published_at }), () => false);
  if (status === "pending") return;
  const { due } = await store.deliveries.claim(applicationId, now, 1);
  const results = due.map((one) => attemptResult(one, { at: published_at, status }));
  await store.deliveries.record(results, []);
}

async function prune(): Promise<void> {
  for (let steps = 0; !(await store.retention.prune(retention, now)); steps++) {
    if (steps > 1_000) throw new Error("it has no end");
  }
}

function kept() {
  const db = new Database(join(directory.path, "onair.db"), { readonly: true });
  try {
    const rows = <T>(sql: string) => db.query<T, []>(sql).all();
    return {
      deliveries: rows<{ id: string }>(
        "SELECT e.id FROM deliveries d JOIN events e ON e.seq = d.event_seq ORDER BY d.seq",
      ).map(({ id }) => id),
      attempts: rows<{ n: number }>("SELECT count(*) AS n FROM attempts")[0]?.n,
      events: rows<{ id: string }>("SELECT id FROM events ORDER BY seq").map(({ id }) => id),
      bodies: rows<{ id: string }>("SELECT id FROM events WHERE body IS NOT NULL ORDER BY seq").map(
        ({ id }) => id,
      ),
    };
  } finally {
    db.close();
  }
}

describe("retention", () => {
  // store/retention.test.ts checks, on both stores, how long rows are kept.
  test("removes attempts, bodies and events with the deliveries, each at its time to the day", async () => {
    await past(20, "delivered");
    await past(9, "failed");
    await past(6, "delivered");
    await past(2.5, "delivered");
    await past(1, "expired");
    await past(0, "pending");
    await prune();
    expect(kept()).toEqual({
      deliveries: ["failed-9", "delivered-2.5", "expired-1", "pending-0"],
      attempts: 3,
      // For seven days an event is remembered for its id.
      events: ["failed-9", "delivered-6", "delivered-2.5", "expired-1", "pending-0"],
      bodies: ["expired-1", "pending-0"],
    });
  });

  test("ends also with many, and the file does not grow while as many are added as removed", async () => {
    const sizes: number[] = [];
    for (let round = 0; round < 4; round++) {
      const contents = { body: "x".repeat(500), published_at: now - 40 * day };
      const events = Array.from({ length: 1_500 }, (_, i) => newEvent(`round-${round}-${i}`, contents));
      await Promise.all(events.map((event) => store.events.publish(event, () => false)));
      const { due } = await store.deliveries.claim(applicationId, now, events.length);
      await store.deliveries.record(
        due.map((one) => attemptResult(one, { at: now, attempt: null })),
        [],
      );
      await prune();
      // The last event stays for its number, without its body.
      const last = [`round-${round}-1499`];
      expect(kept()).toEqual({ deliveries: [], attempts: 0, events: last, bodies: [] });
      const db = new Database(join(directory.path, "onair.db"), { readonly: true });
      sizes.push(db.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0);
      db.close();
    }
    expect(sizes[3]).toBeLessThanOrEqual((sizes[1] ?? 0) * 1.1);
  });
});

test("an expired delivery of a disabled endpoint has no time at which its schedule continues", async () => {
  await past(5, "pending");
  const { due } = await store.deliveries.claim(applicationId, now - 5 * day, 1);
  const state = { ...newEndpoint(applicationId), failing_since: 1, disabled_at: now - 4 * day };
  await store.deliveries.record(
    due.map((one) => attemptResult(one, { status: "pending", next_attempt_at: now, resume_at: now + day })),
    [{ ...state, disabled_reason: "gone" }],
  );
  await prune();
  const db = new Database(join(directory.path, "onair.db"), { readonly: true });
  const row = db.query("SELECT status, next_attempt_at, resume_at FROM deliveries").get();
  db.close();
  expect(row).toEqual({ status: "expired", next_attempt_at: null, resume_at: null });
});
