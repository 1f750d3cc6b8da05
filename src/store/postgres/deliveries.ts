import { eq } from "drizzle-orm";
import type { NewNotice } from "../../domain/operations/notices.ts";
import type { DeliveryStore } from "../deliveries.ts";
import { retryDelivery } from "../drizzle/deliveries/requeue.ts";
import { noticeAdder } from "../drizzle/notices.ts";
import { finished, postgresDialect } from "./database/dialect.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { deliveryClaims } from "./deliveries/claim.ts";
import type { ClaimedDeliveries } from "./deliveries/claimed-deliveries.ts";
import { deliveryLog } from "./deliveries/log.ts";
import type { OwnedShards } from "./deliveries/owned-shards.ts";
import { recordAttempts } from "./deliveries/record.ts";
import { deliveryStream } from "./deliveries/stream.ts";
import { isKeptState } from "./endpoints.ts";
import { deliveries } from "./schema/deliveries.ts";

/** The queue of deliveries, and the log that they become. */
export function deliveryStore(pool: Postgres, claimed: ClaimedDeliveries, owned: OwnedShards): DeliveryStore {
  const shared = postgresDialect(pool);
  const addNotice = noticeAdder(shared);
  const isOfUser = (user: number) => eq(deliveries.broadcaster_user_id, user);
  const { page, find, backlog, backlogOfAll } = deliveryLog(pool);
  return {
    ...deliveryClaims(pool, claimed, owned),
    ...deliveryStream(pool),
    async record(results, endpoints, notices = []) {
      const record = (queries: Queries) =>
        recordAttempts(queries, owned, claimed.fenceOf, results, endpoints);
      if (notices.length === 0) await record(pool);
      else {
        await pool.transact(async (transaction) => {
          await record(transaction);
          const stateOf = ({ application_id: id }: NewNotice) =>
            endpoints.find(({ application_id }) => application_id === id);
          for (const notice of notices) {
            if (await isKeptState(transaction, stateOf(notice)))
              await finished(addNotice(transaction.orm, notice));
          }
        });
      }
      claimed.release(results.map(({ seq }) => seq));
    },
    settle: async () => {},
    page,
    find,
    backlog,
    backlogOfAll,
    retry: (scope, id, now) =>
      pool.transact(async (transaction) => {
        const seq = await finished(retryDelivery(shared, transaction.orm, isOfUser, scope, id, now));
        const retried = await deliveryLog(transaction).one(seq);
        if (!retried) throw new Error("a delivery that was made due is missing");
        return retried;
      }),
  };
}
