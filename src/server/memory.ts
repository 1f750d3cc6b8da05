import { OperatorKeys } from "../api/admin/operator-keys.ts";
import { Changes, rateLimiter } from "../api/http/access.ts";
import { Cursors } from "../api/http/cursors.ts";
import { LoginChallenges } from "../api/http/seal.ts";
import { OutcomeStreams } from "../api/stream/outcome-streams.ts";
import type { Engine } from "../delivery/engine.ts";
import { catalogueOf, updateCatalogue } from "../domain/events/registered.ts";
import { sealingKeyOf } from "../domain/store.ts";
import { Ranking } from "../platform/ranking.ts";
import { PlatformFollower } from "../postgres/platform-follower.ts";
import { RateShares } from "../postgres/rate-shares.ts";
import { SharedOrders } from "../postgres/shared-orders.ts";
import { repeatedRead } from "../runtime/repeated-read.ts";

/** The data that the main thread has in memory, for both listeners. */
export type Memory = Awaited<ReturnType<typeof openMemory>>;

interface MemoryOptions {
  readonly engine: Engine;
  readonly now: () => number;
  /** Notes the changes, made through the store of `engine`, of what callers may have in a cache. */
  readonly callers?: Changes;
  readonly isReplica?: boolean;
  /** The operator key from the environment; null for none. */
  readonly environmentKey?: string | null;
  /** An operator key for requests of this process itself; null for none. */
  readonly ownKey?: string | null;
}

/** Opens the data in memory. The operator keys, and the ranking (see `loadRanking`), are not loaded yet. */
export async function openMemory({
  engine,
  now,
  callers = new Changes(),
  isReplica = false,
  environmentKey = null,
  ownKey = null,
}: MemoryOptions) {
  const { store } = engine;
  // Nothing is cached before notifications of other replicas arrive.
  if (isReplica) callers.useUntil(Number.NEGATIVE_INFINITY);
  const catalogue = await catalogueOf(await store.eventTypes.all());
  const sealingKey = await sealingKeyOf(store);

  const shares = isReplica
    ? new RateShares((taken) => engine.broadcast({ kind: "taken", shares: taken }))
    : null;
  const ranking = new Ranking(now, isReplica ? new SharedOrders(store.orders, now) : null);
  const isCurrent = () => callers.isCurrent;
  const operatorKeys = new OperatorKeys({ store, now, environment: environmentKey, own: ownKey, isCurrent });
  const eventTypes = repeatedRead(async () => updateCatalogue(catalogue, await store.eventTypes.all()));
  const keys = repeatedRead(() => operatorKeys.load());
  const follower = isReplica ? new PlatformFollower(store, ranking) : null;
  const outcomes = new OutcomeStreams(engine);
  return {
    store,
    callers,
    limiter: rateLimiter(now, shares),
    ranking,
    /** Applies changes by other replicas to the ranking; null if there are none. */
    follower,
    catalogue,
    operatorKeys,
    /** The reads that are repeated after changes by other replicas. */
    again: { eventTypes, operatorKeys: keys },
    cursors: new Cursors(sealingKey),
    challenges: new LoginChallenges(sealingKey),
    outcomes,
    /** Ends open streams and repeated reads. */
    stop() {
      outcomes.close();
      for (const one of [eventTypes, keys, follower]) one?.stop();
    },
  };
}

/** Reads the live order of categories from the store. */
export async function loadRanking({ ranking, store }: Memory): Promise<void> {
  ranking.putCategories(await store.categories.all());
  ranking.putLive(await store.livestreams.all());
}
