import { describe, expect, test } from "bun:test";
import type { ApplicationChanges } from "../../../src/domain/applications.ts";
import type { Store } from "../../../src/domain/store.ts";
import { minute } from "../../../src/domain/time.ts";
import { postgresDialect } from "../../../src/postgres/dialect.ts";
import { applicationStore } from "../../../src/store/drizzle/applications.ts";
import { hasPostgres, ownPostgres } from "../../support/postgres.ts";
import { newEvent, storedAt, subscriber } from "../../support/store.ts";

/*
 * An application with more pending deliveries than one statement ends no longer receives. What is left pending is never
 * sent, also if the application receives again.
 */

const now = storedAt;
const url = "https://receiver.test/";
const changes: Readonly<Record<string, [ApplicationChanges, ApplicationChanges, "canceled" | "delivered"]>> =
  {
    "disabled and enabled": [{ disabled: true }, { disabled: false }, "canceled"],
    "without its URL and given one": [{ webhook_url: null }, { webhook_url: url }, "canceled"],
    "changed to the stream and back": [{ delivery: "stream" }, { delivery: "webhook" }, "delivered"],
  };

/** An application with pending retries, and its store on two replicas, of which each statement ends two. */
async function withRetries(count: number, forMs: number) {
  const { store, pool } = await ownPostgres();
  const id = await subscriber(store, { webhook_url: url });
  const limits = { most: 2, forMs };
  await retries(store, pool, id, count);
  return {
    id,
    store,
    one: applicationStore(postgresDialect(pool), limits),
    other: applicationStore(postgresDialect(pool), limits),
    counts: () => countsOf(pool),
  };
}

type Pool = Awaited<ReturnType<typeof ownPostgres>>["pool"];

async function retries(store: Store, pool: Pool, id: string, count: number): Promise<void> {
  const [subscription] = await store.subscriptions.ofApplication(id);
  await pool.run(
    `INSERT INTO deliveries (seq, id, event_seq, event_id, type, version, broadcaster_user_id, published_at,
       application_id, subscription_id, sequence, status, attempts, next_attempt_at, attempt_log)
     SELECT g, g, g, g, '', 1, 1, 0, $1, $2, g, 'pending', 6, $3::bigint + g, '{}'
     FROM generate_series(1, ${count}) g`,
    [id, subscription?.id, now + minute],
  );
  await pool.run("SELECT setval('delivery_numbers', $1)", [count]);
}

/** How many deliveries have each status. */
async function countsOf(pool: Pool): Promise<Record<string, number>> {
  const rows = await pool.run<{ status: string; n: number }>(
    "SELECT status, count(*)::int AS n FROM deliveries GROUP BY status",
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

describe.skipIf(!hasPostgres)("a long backlog of an application that no longer receives", () => {
  test("is not sent when it is enabled hours later", async () => {
    const { store, pool } = await ownPostgres();
    await store.deliveries.releaseAll();
    const id = await subscriber(store);
    await retries(store, pool, id, 10_500);
    await store.applications.update(id, { disabled: true }, now);
    expect(await countsOf(pool)).toEqual({ canceled: 10_000, pending: 500 });
    await store.applications.update(id, { disabled: false }, now + 5 * minute);
    expect(await countsOf(pool)).toEqual({ canceled: 10_500 });
  });

  test.each(Object.keys(changes))(
    "%s: ends before it receives again, also on another replica",
    async (name) => {
      const [stop, receive, status] = changes[name] ?? [];
      if (!stop || !receive || !status) throw new Error("there is no such change");
      const { id, one, other, counts } = await withRetries(5, minute);
      await one.update(id, stop, now);
      expect(await counts()).toEqual({ [status]: 2, pending: 3 });
      expect(await other.update(id, receive, now)).toMatchObject(receive);
      expect(await counts()).toEqual({ [status]: 5 });
    },
  );

  test("ends in several calls if it is too long for one, until which the application stays as it is", async () => {
    const { id, one, counts } = await withRetries(7, 0);
    await one.update(id, { disabled: true }, now);
    for (const canceled of [4, 6]) {
      const enabling = one.update(id, { disabled: false, name: "Other" }, now);
      await expect(enabling).rejects.toMatchObject({
        code: "unavailable",
        details: { retryAfterSeconds: 1 },
      });
      expect(await counts()).toEqual({ canceled, pending: 7 - canceled });
      expect(await one.find(id)).toMatchObject({ disabled: true, name: "Test" });
    }
    expect(await one.update(id, { disabled: false }, now)).toMatchObject({ disabled: false });
    expect(await counts()).toEqual({ canceled: 7 });
  });

  test("does not prevent other changes, and that it is disabled", async () => {
    const { id, one, counts } = await withRetries(9, 0);
    await one.update(id, { delivery: "stream" }, now);
    expect(await one.update(id, { name: "Other" }, now)).toMatchObject({ name: "Other" });
    expect(await counts()).toEqual({ delivered: 4, pending: 5 });
    expect(await one.update(id, { disabled: true }, now)).toMatchObject({ disabled: true });
    expect(await counts()).toEqual({ delivered: 6, canceled: 2, pending: 1 });
  });

  test("is ended by endRest, which ends nothing once the application receives again", async () => {
    const { id, store, one, other, counts } = await withRetries(20, minute);
    await one.update(id, { disabled: true }, now);
    await one.endRest(id, now);
    expect(await counts()).toEqual({ canceled: 20 });

    await other.update(id, { disabled: false }, now);
    await store.events.publish(newEvent("a"), () => false);
    await one.endRest(id, now);
    expect(await counts()).toEqual({ canceled: 20, pending: 1 });
  });

  test("is ended by endRest while another replica enables it: what is published then stays pending", async () => {
    const { id, store, one, other, counts } = await withRetries(40, minute);
    await one.update(id, { disabled: true }, now);
    const rest = one.endRest(id, now);
    await other.update(id, { disabled: false }, now);
    await store.events.publish(newEvent("a"), () => false);
    await rest;
    expect(await counts()).toEqual({ canceled: 40, pending: 1 });
  });

  test("is ended by endRest for a bounded time", async () => {
    const { id, one, counts } = await withRetries(5, 0);
    await one.update(id, { disabled: true }, now);
    await one.endRest(id, now);
    expect(await counts()).toEqual({ canceled: 4, pending: 1 });
  });
});
