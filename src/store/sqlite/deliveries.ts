import type { Database } from "bun:sqlite";
import { sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { DeliveryStore } from "../deliveries.ts";
import { retryDelivery } from "../drizzle/deliveries/requeue.ts";
import type { Dialect } from "../drizzle/dialect.ts";
import { noticeAdder } from "../drizzle/notices.ts";
import type { Commit } from "./database/commit.ts";
import { finished } from "./database/dialect.ts";
import type { Snapshots } from "./database/snapshots.ts";
import { backlogOfAll } from "./deliveries/backlog.ts";
import { deliveryClaims } from "./deliveries/claim.ts";
import { deliveryLog } from "./deliveries/log.ts";
import { attemptRecorder } from "./deliveries/record.ts";
import { type StagedEvents, settled } from "./deliveries/staged.ts";
import { deliveryStream } from "./deliveries/stream.ts";
import { endpointKeeper } from "./endpoints.ts";
import { deliveries } from "./schema/events.ts";

interface DeliveryStoreParts {
  readonly shared: Dialect;
  readonly staged: Pick<StagedEvents, "settle">;
  /** For counting the backlog, which takes many turns of the event loop. */
  readonly snapshots: Snapshots;
}

/** The queue of deliveries, and the log that they become. */
export function deliveryStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  { shared, staged, snapshots }: DeliveryStoreParts,
): DeliveryStore {
  const keepEndpoint = endpointKeeper(orm);
  const addNotice = noticeAdder(shared);
  const claims = deliveryClaims(db, orm, commit);
  const record = attemptRecorder(db);
  const log = deliveryLog(db, orm);
  const isOfUser = (user: number) => sql`EXISTS (SELECT 1 FROM events e
    WHERE e.seq = ${deliveries.event_seq} AND e.broadcaster_user_id = ${user})`;
  return {
    ...claims,
    ...deliveryStream(db, orm),
    async record(results, endpoints, notices = []) {
      await commit(() => {
        record(results);
        const kept = new Set(endpoints.filter(keepEndpoint).map(({ application_id }) => application_id));
        for (const notice of notices)
          if (kept.has(notice.application_id ?? "")) finished(addNotice(shared.orm, notice));
      }, true);
      await claims.release(results.map(({ seq }) => seq));
    },
    settle: staged.settle,
    page: settled(staged, log.page),
    find: settled(staged, log.find),
    backlog: settled(staged, log.backlog),
    backlogOfAll: settled(staged, () => snapshots.during("backlog", backlogOfAll)),
    retry: (scope, id, now) =>
      commit(() => {
        const retried = log.one(finished(retryDelivery(shared, shared.orm, isOfUser, scope, id, now)));
        if (!retried) throw new Error("a delivery that was made due is missing");
        return retried;
      }),
  };
}
