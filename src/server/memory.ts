import { OperatorKeys } from "../api/admin/operator-keys.ts";
import { Changes, rateLimiter, type UsageReport } from "../api/http/access.ts";
import { Cursors } from "../api/http/cursors.ts";
import { LoginChallenges } from "../api/http/oauth.ts";
import { OutcomeStreams } from "../api/stream/outcome-streams.ts";
import type { Engine } from "../delivery/engine.ts";
import { catalogueOf, updateCatalogue } from "../domain/events/catalogue.ts";
import { sealingKeyOf } from "../domain/store.ts";
import type { Follower } from "../platform/platform-data.ts";
import { type OrderExchange, Ranking } from "../platform/ranking.ts";

/** The data that the main thread has in memory, for both listeners. */
export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** The other servers on the same data, as the data in memory depends on them. */
interface MemoryPeers {
  readonly usage: UsageReport;
  readonly orders: OrderExchange;
  follow(ranking: Ranking): Follower;
}

interface MemoryOptions {
  readonly engine: Engine;
  readonly now: () => number;
  /** Notes the changes, made through the store of `engine`, of what callers may have in a cache. */
  readonly callers?: Changes;
  /** null if no other server uses the data. */
  readonly peers?: MemoryPeers | null;
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
  peers = null,
  environmentKey = null,
  ownKey = null,
}: MemoryOptions) {
  const { store } = engine;
  // Nothing is cached before notifications of other replicas arrive.
  if (peers) callers.useUntil(Number.NEGATIVE_INFINITY);
  const catalogue = await catalogueOf(await store.eventTypes.all());
  const sealingKey = await sealingKeyOf(store);

  const ranking = new Ranking(now, peers?.orders ?? null);
  const isCurrent = () => callers.isCurrent;
  const operatorKeys = new OperatorKeys({ store, now, environment: environmentKey, own: ownKey, isCurrent });
  const outcomes = new OutcomeStreams(engine);
  return {
    store,
    callers,
    limiter: rateLimiter(now, peers?.usage ?? null),
    ranking,
    /** Reads data again that other servers may have changed later; null if there are none. */
    follower: peers?.follow(ranking) ?? null,
    catalogue,
    operatorKeys,
    /** Reads from the store what other servers have changed. */
    reload: {
      eventTypes: async () => updateCatalogue(catalogue, await store.eventTypes.all()),
      operatorKeys: () => operatorKeys.load(),
    },
    cursors: new Cursors(sealingKey),
    challenges: new LoginChallenges(sealingKey),
    outcomes,
    /** Ends open streams. */
    stop: () => outcomes.close(),
  };
}

/** Reads the live order of categories from the store. */
export async function loadRanking({ ranking, store }: Memory): Promise<void> {
  ranking.putCategories(await store.categories.all());
  ranking.putLive(await store.livestreams.all());
}
