import type { Database } from "bun:sqlite";
import { ulidSource } from "../../src/domain/ids.ts";

interface LogShape {
  readonly deliveries: number;
  /** The number of deliveries of each event. Each goes to another application. */
  readonly perEvent: number;
  /** The time of the first event, and the milliseconds between events. */
  readonly from: number;
  readonly everyMs: number;
  /** The application and subscription of a delivery. */
  receiver(): { readonly application_id: string; readonly subscription_id: string };
  readonly random: () => number;
}

const rowsPerTransaction = 100_000;
const types = ["chat.message.sent", "channel.followed", "kicks.gifted"];
const body = JSON.stringify({ type: "chat.message.sent", version: 1, data: { content: "x".repeat(300) } });

/**
 * Writes a log of finished deliveries into a database: most succeeded at the first attempt, one in a hundred failed.
 * Rows are written by SQL because publishing ten million events through the store would take hours.
 */
export function writeDeliveries(db: Database, shape: LogShape): void {
  const { deliveries, perEvent, from, everyMs, receiver, random } = shape;
  let now = from;
  const newId = ulidSource(() => now);
  const event = db.prepare(
    `INSERT INTO events (seq, id, name, version, broadcaster_user_id, body, fingerprint, first_delivery, deliveries, published_at)
     VALUES (?, ?, ?, 1, 1001, ?, zeroblob(32), ?, ?, ?)`,
  );
  const delivery = db.prepare(
    `INSERT INTO deliveries (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts, finished_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?)`,
  );
  const attempt = db.prepare(
    `INSERT INTO attempts
       (delivery_seq, number, at, outcome, status, duration_ms, first_byte_ms, error, response, generation)
     VALUES (?, 1, ?, ?, ?, 12, 11.5, ?, '', 0)`,
  );
  db.run("PRAGMA synchronous = OFF");
  let open = false;
  for (let seq = 1; seq <= deliveries; seq++) {
    if (!open) db.run("BEGIN");
    open = true;
    const eventSeq = Math.ceil(seq / perEvent);
    if (seq % perEvent === 1 || perEvent === 1) {
      now = Math.floor(from + (eventSeq - 1) * everyMs);
      const name = types[eventSeq % types.length] ?? "";
      event.run(eventSeq, newId(), name, body, seq, Math.min(perEvent, deliveries - seq + 1), now);
    }
    const failed = random() < 0.01;
    const { application_id, subscription_id } = receiver();
    const status = failed ? "failed" : "delivered";
    delivery.run(seq, newId(), eventSeq, application_id, subscription_id, seq, status, now);
    attempt.run(
      seq,
      now,
      failed ? "status" : "ok",
      failed ? 410 : 204,
      failed ? "The answer was 410." : null,
    );
    if (seq % rowsPerTransaction === 0 || seq === deliveries) {
      db.run("COMMIT");
      open = false;
    }
  }
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
}
