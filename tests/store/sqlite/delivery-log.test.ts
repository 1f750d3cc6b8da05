import { Database } from "bun:sqlite";
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { seeded } from "../../../src/dev/chance.ts";
import type { DeliveryFilter, DeliveryRecord } from "../../../src/domain/deliveries.ts";
import type { Store } from "../../../src/domain/store.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { afterTests } from "../../support/after-tests.ts";
import { writeDeliveries } from "../../support/delivery-rows.ts";
import { testDirectory } from "../../support/server.ts";
import { wholeLog } from "../../support/store.ts";

/*
 * A log of some ten regions of the index, with an application that has half of it, one that has some, and one that has
 * three deliveries far apart.
 */

const directory = testDirectory();
const total = 40_000;
const from = Date.parse("2026-01-14T16:00:00Z");
let store: Store;
let db: Database;

beforeAll(async () => {
  await openStore(directory).close();
  db = new Database(join(directory, "onair.db"));
  const random = seeded(1);
  const rare = new Set([5, 20_000, 39_990]);
  let n = 0;
  const receiver = () => {
    n++;
    const application_id = rare.has(n) ? "rare" : random() < 0.5 ? "large" : `small-${n % 20}`;
    return { application_id, subscription_id: `${application_id}-${n % 3}` };
  };
  writeDeliveries(db, { deliveries: total, perEvent: 10, from, everyMs: 100, receiver, random });
  store = openStore(directory);
});
afterTests(async () => {
  await store.close();
  db.close();
});

/** Every delivery that a walk from page to page gives, and how many pages it took. */
async function walk(filter: Partial<DeliveryFilter>, limit = 100) {
  const found: DeliveryRecord[] = [];
  let pages = 0;
  for (let below: number | null = null; ; ) {
    const { deliveries, next } = await store.deliveries.page({ ...wholeLog, ...filter }, below, limit);
    found.push(...deliveries);
    pages++;
    expect(deliveries.length).toBeLessThanOrEqual(limit);
    if (next === null) return { found, pages };
    if (below !== null) expect(next).toBeLessThan(below);
    below = next;
  }
}

/** The same by one obvious question. */
function expected(where: string, ...values: (string | number)[]): number[] {
  const sql = `SELECT d.seq FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE ${where} ORDER BY d.seq DESC`;
  return db
    .query<{ seq: number }, (string | number)[]>(sql)
    .all(...values)
    .map(({ seq }) => seq);
}

// Every filter is held on both stores by store/delivery-log.test.ts; these walk through many regions, or find one far
// away.
describe("paging through the regions returns each matching delivery once, newest first", () => {
  const later = from + 150_000;
  test.each<[string, Partial<DeliveryFilter>, string, (string | number)[]]>([
    ["of a small one", { application_id: "small-7" }, "application_id = ?", ["small-7"]],
    ["of a rare one", { application_id: "rare" }, "application_id = ?", ["rare"]],
    [
      "that failed, of a subscription and type",
      { application_id: "large", subscription_id: "large-2", status: "failed", type: "kicks.gifted" },
      "subscription_id = ? AND status = 'failed' AND e.name = 'kicks.gifted'",
      ["large-2"],
    ],
    [
      "before a time",
      { application_id: "small-1", before: later },
      "application_id = ? AND published_at < ?",
      ["small-1", later],
    ],
  ])("%s", async (_, filter, where, values) => {
    const { found } = await walk(filter);
    expect(found.map(({ seq }) => seq)).toEqual(expected(where, ...values));
  });
});

describe("pending deliveries are counted", () => {
  test("for one subscription; above the limit of counting, at least its newest", async () => {
    db.run("BEGIN");
    db.run("UPDATE deliveries SET status = 'pending', next_attempt_at = 5 WHERE application_id = 'large'");
    db.run("UPDATE deliveries SET status = 'pending', next_attempt_at = 0 WHERE application_id = 'small-3'");
    for (const id of ["large-1", "small-3-0"]) {
      db.run(
        `INSERT INTO applications (id, name, client_type, client_secret_hash, client_secret_prefix, client_secret_created_at,
           webhook_secret, webhook_secret_created_at, scopes, redirect_uris, created_at, updated_at)
         VALUES (?, '', 'confidential', zeroblob(32), '', 0, '', 0, '[]', '[]', '', '')`,
        [`app-${id}`],
      );
      db.run(
        `INSERT INTO subscriptions (id, app_id, event, version, created_at, updated_at) VALUES (?, ?, '', 1, '', '')`,
        [id, `app-${id}`],
      );
    }
    db.run("COMMIT");
    const counted = expected("subscription_id = 'small-3-0'").length;
    const oldest =
      from + Math.floor(((expected("subscription_id = 'small-3-0'").at(-1) ?? 0) - 1) / 10) * 100;
    expect(await store.deliveries.backlog("small-3", "small-3-0")).toEqual({
      pending: counted,
      oldest_pending_at: oldest,
    });
    const { pending, oldest_pending_at } = await store.deliveries.backlog("large", "large-1");
    expect(pending).toBeGreaterThan(1_000);
    expect(oldest_pending_at).toBeNumber();
  });
});

// The condition of a partial index is evaluated for the old and the new row of each change.
test.each([
  "INSERT INTO deliveries (id, event_seq, application_id, subscription_id, sequence, status, attempts) VALUES ('a', 1, 'b', 'c', 1, 'pending', 0)",
  "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, finished_at = 1 WHERE seq = 1",
])("changing a delivery makes no temporary table: %s", (sql) => {
  const steps = db.query<{ opcode: string }, []>(`EXPLAIN ${sql}`).all();
  expect(steps.map(({ opcode }) => opcode)).not.toContain("OpenEphemeral");
});
