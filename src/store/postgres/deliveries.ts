import type { DeliveryStore } from "../deliveries.ts";
import type { Postgres } from "./database/pool.ts";
import { deliveryClaims } from "./deliveries/claim.ts";
import type { HandedOut } from "./deliveries/handed-out.ts";
import { deliveryLog } from "./deliveries/log.ts";
import type { EndpointOwnership } from "./deliveries/ownership.ts";
import { recordAttempts } from "./deliveries/record.ts";
import { retryDelivery } from "./deliveries/requeue.ts";
import { deliveryStream } from "./deliveries/stream.ts";

/** The queue of deliveries, and the log that they become. */
export function deliveryStore(
  pool: Postgres,
  handedOut: HandedOut,
  ownership: EndpointOwnership,
): DeliveryStore {
  const { page, find, backlog } = deliveryLog(pool);
  return {
    ...deliveryClaims(pool, handedOut, ownership),
    ...deliveryStream(pool),
    async record(results, endpoints) {
      await recordAttempts(pool, ownership, handedOut.applicationOf, results, endpoints);
      handedOut.end(results.map(({ seq }) => seq));
    },
    page,
    find,
    backlog,
    retry: (scope, id, now) =>
      pool.transact(async (transaction) => {
        const retried = await deliveryLog(transaction).one(await retryDelivery(transaction, scope, id, now));
        if (!retried) throw new Error("a delivery that was made due is missing");
        return retried;
      }),
  };
}
