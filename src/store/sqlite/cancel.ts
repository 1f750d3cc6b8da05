import type { Database } from "bun:sqlite";

/** Of a long backlog of a subscription the beginning; what is behind it is canceled when it would be sent. */
const cancelAtOnce = 10_000;

type Ending = "canceled" | "delivered";

/** Cancels pending deliveries, inside a transaction. */
export function deliveryCanceler(db: Database) {
  const ofApplication = db.prepare<null, [Ending, number, string]>(
    `UPDATE deliveries SET status = ?, next_attempt_at = NULL, finished_at = ?
     WHERE application_id = ? AND next_attempt_at IS NOT NULL`,
  );
  // These the dispatcher has in memory. It is told, and starts no more of them; of one that is under way the attempt is
  // kept, but no retry follows.
  const endHandedOut = `UPDATE deliveries SET status = ?, finished_at = ?
     WHERE seq IN (SELECT seq FROM deliveries WHERE status = 'pending' AND next_attempt_at IS NULL)`;
  const handedOut = db.prepare<null, [Ending, number, string]>(`${endHandedOut} AND application_id = ?`);
  const handedOutFor = db.prepare<null, [Ending, number, string]>(
    `${endHandedOut} AND subscription_id IN (SELECT value FROM json_each(?))`,
  );
  const ofSubscriptions = db.prepare<null, [number, string, string]>(
    `UPDATE deliveries SET status = 'canceled', next_attempt_at = NULL, finished_at = ?
     WHERE seq IN (
       SELECT seq FROM (SELECT seq, subscription_id FROM deliveries
                        WHERE application_id = ? AND next_attempt_at IS NOT NULL LIMIT ${cancelAtOnce})
       WHERE subscription_id IN (SELECT value FROM json_each(?)))`,
  );
  const end = (status: Ending, id: string, now: number) => {
    ofApplication.run(status, now, id);
    handedOut.run(status, now, id);
  };
  return {
    ofApplication(id: string, now: number): void {
      end("canceled", id, now);
    },
    /** What is pending of an application that uses only its event stream from now on: there it can be read. */
    leftToStream(id: string, now: number): void {
      end("delivered", id, now);
    },
    /** Of these subscriptions of the application, what is in the store; the rest is the dispatcher's to cancel. */
    ofSubscriptions(applicationId: string, ids: readonly string[], now: number): void {
      if (ids.length > 0) ofSubscriptions.run(now, applicationId, JSON.stringify(ids));
    },
    /** Of these subscriptions, what the dispatcher has in memory; looks at all that it has. */
    handedOut(ids: readonly string[], now: number): void {
      if (ids.length > 0) handedOutFor.run("canceled", now, JSON.stringify(ids));
    },
  };
}
