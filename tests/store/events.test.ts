import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type DeliveryMode, deliveryModes } from "../../src/domain/applications.ts";
import { userFrom } from "../../src/domain/users.ts";
import type { Store } from "../../src/store/store.ts";
import { emptyStore, storedApplication } from "../support/store.ts";

const at = "2026-01-14T16:00:00.000Z";
const publishedAt = Date.parse(at);

let path: string;
let store: Store;
beforeEach(async () => {
  ({ store, path } = emptyStore());
  await store.users.upsert([userFrom({ id: 1, username: "ada" })], at);
});

async function subscriber(delivery: DeliveryMode): Promise<string> {
  const app_id = await storedApplication(store, { delivery });
  const key = { app_id, broadcaster_user_id: 1, event: "channel.followed", version: 1 };
  await store.subscriptions.subscribe([key], 1, publishedAt);
  return app_id;
}

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly application_id: string;
  readonly sequence: number;
  readonly status: string;
  readonly next_attempt_at: number | null;
  readonly finished_at: number | null;
  readonly expires_at: number | null;
}

const publish = (id: string, takes: (applicationId: string) => boolean) =>
  store.events.publish(
    {
      id,
      name: "channel.followed",
      version: 1,
      broadcaster_user_id: 1,
      body: "{}",
      fingerprint: Buffer.from(id),
      published_at: publishedAt,
      expires_at: publishedAt + 1,
    },
    takes,
  );

// One by one, as many as a statement takes, and around that.
test.each([0, 1, 2, 49, 50, 51, 149, 150])(
  "an event has one delivery for each of %i subscribers",
  async (count) => {
    const modes = new Map<string, DeliveryMode>();
    for (let i = 0; i < count; i++) {
      const mode = deliveryModes[i % 7 === 3 ? 1 : i % 7 === 5 ? 2 : 0] ?? "webhook";
      modes.set(await subscriber(mode), mode);
    }
    const hasRoom = new Set([...modes.keys()].filter((_, i) => i % 3 > 0));
    const stored = [];
    for (const id of ["a", "b"]) stored.push(await publish(id, (application) => hasRoom.has(application)));

    const db = new Database(join(path, "onair.db"), { readonly: true });
    const rows = db.query<Row, []>("SELECT * FROM deliveries ORDER BY seq").all();
    db.close();
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * count }, (_, i) => i + 1));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2 * count);
    for (const [i, event] of stored.entries()) {
      const own = rows.slice(i * count, (i + 1) * count);
      expect(event.deliveries).toBe(count);
      expect(own.map(({ application_id }) => application_id).sort()).toEqual([...modes.keys()].sort());
      expect(own.every(({ sequence }) => sequence === i + 1)).toBe(true);
      const sent = own.filter(({ application_id }) => modes.get(application_id) !== "stream");
      for (const row of own) {
        const { application_id, status, next_attempt_at, finished_at, expires_at } = row;
        const isTaken = hasRoom.has(application_id);
        expect([status, next_attempt_at, finished_at, expires_at]).toEqual(
          modes.get(application_id) === "stream"
            ? ["delivered", null, publishedAt, publishedAt + 1]
            : ["pending", isTaken ? null : 0, null, publishedAt + 1],
        );
      }
      expect(event.taken.map(({ seq, id }) => [seq, id])).toEqual(
        sent.filter(({ application_id }) => hasRoom.has(application_id)).map(({ seq, id }) => [seq, id]),
      );
      expect([...event.streamed].sort()).toEqual(
        [...modes].flatMap(([application, mode]) => (mode === "webhook" ? [] : application)).sort(),
      );
    }
  },
);

test.each([
  ["first attempts alone take all places", 12, 0, [8, 0]],
  ["so do retries alone", 0, 12, [0, 8]],
  ["a quarter of the places is for retries where there is more of both", 12, 12, [6, 2]],
  ["places that first attempts leave are for retries", 3, 12, [3, 5]],
  ["places that retries leave are for first attempts", 12, 1, [7, 1]],
])("a claim of eight: %s", async (_, first, due, shares) => {
  const application = await subscriber("webhook");
  const retries = [];
  for (let i = 0; i < due; i++) retries.push(...(await publish(`r${i}`, () => true)).taken);
  const attempt = {
    outcome: "status",
    status: 500,
    duration_ms: 1,
    error: null,
    response: "",
    at: publishedAt,
  };
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1 };
  await store.deliveries.record(
    retries.map(({ seq }) => {
      const result = { seq, at: publishedAt, attempts: 1, attempt: { ...attempt, timings } };
      const kept = { extra_attempts: 0, generation: 0, resume_at: null };
      return { ...result, ...kept, status: "pending", next_attempt_at: publishedAt + 1 };
    }),
    [],
  );
  for (let i = 0; i < first; i++) await publish(`f${i}`, () => false);
  const claim = await store.deliveries.claim(application, publishedAt + 1, 8);
  const count = (attempts: number) => claim.due.filter((one) => one.attempts === attempts).length;
  expect([count(0), count(1)]).toEqual(shares);
  expect(claim.hasBacklog).toBe(first > (shares[0] ?? 0));
  expect(claim.retryAt).toBe(due > (shares[1] ?? 0) ? publishedAt + 1 : null);
  expect((await store.deliveries.claim(application, publishedAt, 100)).due).toHaveLength(
    first - (shares[0] ?? 0),
  );
});
