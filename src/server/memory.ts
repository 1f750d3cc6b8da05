import { OperatorKeys } from "../api/admin/operator-keys.ts";
import { rateLimiter } from "../api/http/access.ts";
import { Cursors } from "../api/http/cursors.ts";
import { LoginChallenges } from "../api/http/seal.ts";
import { OutcomeStreams } from "../api/stream/outcome-streams.ts";
import { catalogueOf, updateCatalogue } from "../domain/events/registered.ts";
import { sealingKeyOf } from "../domain/store.ts";
import { Ranking } from "../platform/ranking.ts";
import { rereading } from "../platform/rereading.ts";
import { PlatformFollower } from "../postgres/platform-follower.ts";
import { RateShares } from "../postgres/rate-shares.ts";
import { SharedOrders } from "../postgres/shared-orders.ts";
import type { Core } from "./core.ts";

/** The data that the main thread has in memory, for both listeners. */
export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** Reads it from the store. Changes by other replicas arrive in `postgres/replica-notifications.ts`. */
export async function openMemory({ config, engine, callers, log, now, location }: Core) {
  const isReplica = "database" in location;
  // Nothing is cached before notifications of other replicas arrive.
  if (isReplica) callers.useUntil(Number.NEGATIVE_INFINITY);
  const { store } = engine;

  const shares = isReplica
    ? new RateShares((taken) => engine.broadcast({ kind: "taken", shares: taken }))
    : null;
  const sharedOrders = isReplica ? new SharedOrders(store.orders, now) : null;
  const ranking = new Ranking(now, sharedOrders);
  ranking.putCategories(await store.categories.all());
  ranking.putLive(await store.livestreams.all());

  const catalogue = await catalogueOf(await store.eventTypes.all());
  for (const name of Object.keys(config.timeToLive)) {
    if (!catalogue.has(name)) log.warn("unknown_event_type", { setting: "time-to-live", name });
  }
  const isCurrent = () => callers.isCurrent;
  const operatorKeys = new OperatorKeys({ store, now, environment: config.adminKey, isCurrent });
  const eventTypes = rereading(async () => updateCatalogue(catalogue, await store.eventTypes.all()));
  const keys = rereading(() => operatorKeys.load());
  const follower = isReplica ? new PlatformFollower(store, ranking) : null;
  const outcomes = new OutcomeStreams(engine);
  const sealingKey = await sealingKeyOf(store);
  return {
    store,
    callers,
    limiter: rateLimiter(now, shares),
    ranking,
    /** Applies changes by other replicas to the ranking; null if there are none. */
    follower,
    catalogue,
    /** Empty until the admin listener starts. */
    operatorKeys,
    /** The reads that are repeated after changes by other replicas. */
    again: { eventTypes, operatorKeys: keys },
    cursors: new Cursors(sealingKey),
    challenges: new LoginChallenges(sealingKey),
    outcomes,
    /** Ends open streams and repeated reads. */
    async stop() {
      outcomes.close();
      for (const one of [eventTypes, keys, follower]) one?.stop();
    },
  };
}
