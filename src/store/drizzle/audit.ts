import { and, desc, eq, getTableColumns, gte, lt, or, sql } from "drizzle-orm";
import {
  type AuditedObject,
  type AuditFilter,
  type AuditStore,
  auditLimits,
  auditMergeKey,
  type NewAuditEntry,
} from "../../domain/audit.ts";
import { hour } from "../../domain/time.ts";
import { type Dialect, execute, lockOwner, type Orm, type Work } from "./dialect.ts";
import { newestKeeper, removeOld } from "./removal.ts";

/** The columns of an entry about a user who was removed since. */
const forgotten = { object_name: null, changes: [] };

/** Removes the names and values of a user from all entries, in the transaction that removes the user. */
export function* forgetUser({ tables: { audit } }: Dialect, orm: Orm, id: number): Work<void> {
  const isTheirs = and(eq(audit.object, "users"), eq(audit.object_id, String(id)));
  yield* execute(orm.update(audit).set(forgotten).where(isTheirs));
}

export function auditStore(db: Dialect): AuditStore {
  const { orm, tables, transact, runEach } = db;
  const { audit, users } = tables;
  const { merge_key, ...columns } = getTableColumns(audit);
  const { all, ofApplication } = auditLimits;

  const kept = { table: audit, made: audit.seq };
  const isActors = eq(audit.actor_id, sql.placeholder("owner"));
  const keepOfActor = newestKeeper(db, "audit_of_actor", { ...kept, where: isActors, keep: ofApplication });
  const keepNewest = newestKeeper(db, "audit_of_all", { ...kept, where: undefined, keep: all });
  function* trim(orm: Orm, { actor_kind, actor_id }: NewAuditEntry): Work<void> {
    if (actor_kind === "application") yield* keepOfActor(orm, actor_id);
    yield* keepNewest(orm, "");
  }

  /**
   * Whether an entry is about a user who does not exist any more. A user who exists cannot be removed before the
   * transaction ends, so that the removal finds the entry.
   */
  function* isOfRemovedUser(
    orm: Orm,
    { object, object_id, object_name, changes }: NewAuditEntry,
  ): Work<boolean> {
    if (object !== "users" || object_id === null || (object_name === null && changes.length === 0))
      return false;
    return !(yield* lockOwner(db, orm, users, Number(object_id), "key share"));
  }

  const isOf = ({ kind, idOrName }: AuditedObject) =>
    and(eq(audit.object, kind), or(eq(audit.object_id, idOrName), eq(audit.object_name, idOrName)));
  const conditions = (filter: AuditFilter, below: number | null) => {
    const { actor, action, object, object_id, of, after, before } = filter;
    return and(
      below === null ? undefined : lt(audit.seq, below),
      actor === null ? undefined : or(eq(audit.actor_id, actor), eq(audit.actor_name, actor)),
      action === null ? undefined : eq(audit.action, action),
      object === null ? undefined : eq(audit.object, object),
      object_id === null ? undefined : eq(audit.object_id, object_id),
      ...of.map((group) => or(...group.map(isOf))),
      // A merged entry spans at most an hour and the time until it is written. Only `at`, its first time, is indexed.
      after === null ? undefined : and(gte(audit.at, after - 2 * hour), gte(audit.last_at, after)),
      before === null ? undefined : lt(audit.at, before),
    );
  };

  return {
    add: (entry) =>
      transact(function* (orm) {
        const isForgotten = yield* isOfRemovedUser(orm, entry);
        yield* execute(orm.insert(audit).values(isForgotten ? { ...entry, ...forgotten } : entry));
        yield* trim(orm, entry);
      }),
    count: (entries) =>
      transact(function* (orm) {
        // Always in the same order, so that two processes cannot deadlock.
        const inOrder = entries
          .map((entry) => ({ ...entry, merge_key: auditMergeKey(entry) }))
          .sort((a, b) => (a.merge_key < b.merge_key ? -1 : 1));
        const set = {
          count: sql`${audit.count} + excluded.count`,
          last_at: sql`CASE WHEN excluded.last_at > ${audit.last_at} THEN excluded.last_at ELSE ${audit.last_at} END`,
          request_id: sql`excluded.request_id`,
        };
        for (const entry of inOrder) {
          yield* execute(
            orm.insert(audit).values(entry).onConflictDoUpdate({ target: audit.merge_key, set }),
          );
          yield* trim(orm, entry);
        }
      }),
    page: async (filter, below, limit) =>
      orm.select(columns).from(audit).where(conditions(filter, below)).orderBy(desc(audit.seq)).limit(limit),
    prune: (before) =>
      runEach((orm) => removeOld(orm, { table: audit, seq: audit.seq, at: audit.at }, before)),
  };
}
