import { and, eq, getTableColumns, gt, inArray, isNotNull, lt, min, or, sql } from "drizzle-orm";
import { receives, usesOnlyStream } from "../../domain/applications.ts";
import { disabledReceiver, maxAttempts, noReceiver } from "../../domain/deliveries.ts";
import { type Endpoint, type EndpointStore, enabledAgain } from "../../domain/endpoints.ts";
import { type DomainError, ownerGone } from "../../domain/errors.ts";
import type { RemovedSubscriptions } from "../../domain/subscriptions.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

/** The most deliveries that end at once. */
export const endAtOnce = 10_000;

/** The most retries made due when an endpoint is enabled. Later retries keep their schedule. */
const retriesAtOnce = 10_000;

/** A literal, because a parameter would not match the partial indexes. */
const isPending = ({ deliveries }: Tables) => sql`${deliveries.status} = 'pending'`;

/** Condition: a delivery waits in the store. On SQLite this excludes deliveries in the dispatcher's memory. */
const isWaiting = (tables: Tables, applicationId: string) =>
  and(
    eq(tables.deliveries.application_id, applicationId),
    isPending(tables),
    isNotNull(tables.deliveries.next_attempt_at),
  );

const ended = { next_attempt_at: null, resume_at: null };

/**
 * Cancels the waiting deliveries of removed subscriptions, inside a transaction. Those of a longer backlog than
 * `endAtOnce` are canceled when they would be sent. The dispatcher is notified for those in its memory: it starts no
 * more attempts, and records attempts in progress.
 */
export function* cancelRemoved(
  { tables, waitingOf }: Dialect,
  orm: Orm,
  removed: readonly RemovedSubscriptions[],
  now: number,
): Work<void> {
  const some = removed.filter(({ ids }) => ids.length > 0);
  if (some.length === 0) return;
  const canceled = { ...ended, status: "canceled", finished_at: now } as const;
  for (const waiting of waitingOf(some, endAtOnce)) {
    const isTheirs = and(isPending(tables), inArray(tables.deliveries.seq, waiting));
    yield* execute(orm.update(tables.deliveries).set(canceled).where(isTheirs));
  }
}

/**
 * Ends the pending deliveries of an application, inside a transaction, as `endOfPending` says. On PostgreSQL at most
 * `most`, those that are due last; the others have to end before the application receives again. Returns whether none
 * is left.
 */
export function* endPending(
  { tables: { deliveries }, isPendingOf }: Dialect,
  orm: Orm,
  applicationId: string,
  {
    as,
    now,
    most = endAtOnce,
  }: { readonly as: "canceled" | "delivered"; readonly now: number; readonly most?: number },
): Work<boolean> {
  const end = { ...ended, status: as, finished_at: now };
  yield* execute(orm.update(deliveries).set(end).where(isPendingOf(applicationId, most)));
  const left = orm.select({ seq: deliveries.seq }).from(deliveries).where(isPendingOf(applicationId, 1));
  return (yield* execute(left.limit(1))).length === 0;
}

/**
 * Makes the retries of an application due, inside a transaction. An attempt that a person asks for is an extra one: the
 * schedule continues after it, at `resume_at`, as if it had not been made.
 */
function* makeRetriesDue(tables: Tables, orm: Orm, applicationId: string, now: number): Work<void> {
  const { deliveries } = tables;
  const { seq, attempts, next_attempt_at, resume_at } = deliveries;
  const isRetry = and(isWaiting(tables, applicationId), gt(next_attempt_at, 0), lt(attempts, maxAttempts));
  const retries = orm.select({ seq }).from(deliveries).where(isRetry);
  const soonest = retries.orderBy(next_attempt_at).limit(retriesAtOnce);
  const due = {
    resume_at: sql`coalesce(${resume_at}, ${next_attempt_at})`,
    next_attempt_at: sql`CASE WHEN ${next_attempt_at} > ${now} THEN ${now} ELSE ${next_attempt_at} END`,
  };
  yield* execute(
    orm
      .update(deliveries)
      .set(due)
      .where(and(isPending(tables), inArray(seq, soonest))),
  );
}

export function endpointStore(db: Dialect): EndpointStore {
  const { orm, tables, transact, prepared } = db;
  const isIt = eq(tables.endpoints.application_id, sql.placeholder("id"));
  const find = prepared("endpoint", (orm) => known(tables, orm).where(isIt));
  const { next_attempt_at } = tables.deliveries;
  return {
    find: async (id) => (await find(orm, { id }))[0] ?? null,
    failing: () => troubledEndpoints(db),
    async dueAt(id) {
      const earliest = orm.select({ at: min(next_attempt_at) }).from(tables.deliveries);
      const [due] = await earliest.where(isWaiting(tables, id));
      return due?.at ?? null;
    },
    enable: (id, now) => transact((orm) => renewEndpoint(tables, orm, id, now)),
  };
}

/**
 * Endpoints that are failing or disabled. A disabled endpoint may not be failing: attempts in progress may succeed
 * later.
 */
export async function troubledEndpoints({ orm, tables }: Dialect): Promise<Endpoint[]> {
  const { failing_since, disabled_at } = tables.endpoints;
  return known(tables, orm).where(or(isNotNull(failing_since), isNotNull(disabled_at)));
}

/** Selects endpoints. Their generation is stored with the application. */
function known({ applications, endpoints }: Tables, orm: Orm) {
  return orm
    .select({ ...getTableColumns(endpoints), generation: applications.endpoint_generation })
    .from(endpoints)
    .innerJoin(applications, eq(applications.id, endpoints.application_id));
}

/**
 * Begins a new generation of an application's endpoint, inside a transaction, and makes its retries due. Returns the
 * generation, or null when the application is gone.
 */
export function* renewEndpoint(
  tables: Tables,
  orm: Orm,
  applicationId: string,
  now: number,
  renewed: typeof enabledAgain = enabledAgain,
): Work<number | null> {
  const { applications, endpoints } = tables;
  const [next] = yield* execute(
    orm
      .update(applications)
      .set({ endpoint_generation: sql`${applications.endpoint_generation} + 1` })
      .where(eq(applications.id, applicationId))
      .returning({ generation: applications.endpoint_generation }),
  );
  if (!next) return null;
  const isIts = eq(endpoints.application_id, applicationId);
  const [endpoint] = yield* execute(known(tables, orm).where(isIts));
  if (endpoint) {
    const { generation: _, ...state } = renewed(endpoint, next.generation);
    yield* execute(orm.update(endpoints).set(state).where(isIts));
  }
  yield* makeRetriesDue(tables, orm, applicationId, now);
  return next.generation;
}

type ReceiverTables = Pick<Tables, "applications" | "endpoints">;

/** Returns the reason why nothing can be sent to an application now; null when something can. */
export function* whyNoReceiver(
  { applications, endpoints }: ReceiverTables,
  orm: Orm,
  applicationId: string,
): Work<DomainError | null> {
  const { webhook_url, disabled, delivery } = applications;
  const [found] = yield* execute(
    orm
      .select({ webhook_url, disabled, delivery, disabled_reason: endpoints.disabled_reason })
      .from(applications)
      .leftJoin(endpoints, eq(endpoints.application_id, applications.id))
      .where(eq(applications.id, applicationId)),
  );
  if (!found) return ownerGone();
  if (!receives(found) || usesOnlyStream(found)) return noReceiver(found);
  return found.disabled_reason === null ? null : disabledReceiver(found.disabled_reason);
}

/** Throws `conflict` when nothing can be sent to an application now. */
export function* requireReceiver(tables: ReceiverTables, orm: Orm, applicationId: string): Work<void> {
  const reason = yield* whyNoReceiver(tables, orm, applicationId);
  if (reason) throw reason;
}
