import { and, desc, eq, getTableColumns, gte, inArray, lt, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import {
  type AuditFilter,
  auditLimits,
  auditMergeKey,
  type NewAuditEntry,
} from "../../../domain/operations/audit.ts";
import type { AuditStore } from "../../operations/audit.ts";
import type { Commit } from "../database/commit.ts";
import { newestKeeper } from "../newest.ts";
import { audit } from "../schema/audit.ts";

/** Rows that one step removes. */
const stepRows = 500;

export function auditStore(orm: BunSQLiteDatabase, commit: Commit): AuditStore {
  const { merge_key, ...shown } = getTableColumns(audit);
  const keepOfActor = newestKeeper(orm, {
    table: audit,
    where: eq(audit.actor_id, sql.placeholder("owner")),
    keep: auditLimits.ofApplication,
  });
  const keepNewest = newestKeeper(orm, { table: audit, where: undefined, keep: auditLimits.all });
  const trim = ({ actor_kind, actor_id }: NewAuditEntry): void => {
    if (actor_kind === "application") keepOfActor(actor_id);
    keepNewest("");
  };
  return {
    add: (entry) =>
      commit(() => {
        orm.insert(audit).values(entry).run();
        trim(entry);
      }),
    count: (entries) =>
      commit(() => {
        for (const entry of entries) {
          orm
            .insert(audit)
            .values({ ...entry, merge_key: auditMergeKey(entry) })
            .onConflictDoUpdate({
              target: audit.merge_key,
              set: {
                count: sql`${audit.count} + excluded.count`,
                last_at: sql`max(${audit.last_at}, excluded.last_at)`,
                request_id: sql`excluded.request_id`,
              },
            })
            .run();
          trim(entry);
        }
      }),
    page: async (filter, below, limit) =>
      orm
        .select(shown)
        .from(audit)
        .where(conditions(filter, below))
        .orderBy(desc(audit.seq))
        .limit(limit)
        .all(),
    prune: (before) =>
      commit(() => {
        const old = orm.select({ seq: audit.seq }).from(audit).where(lt(audit.at, before)).limit(stepRows);
        const gone = orm.delete(audit).where(inArray(audit.seq, old)).returning({ seq: audit.seq }).all();
        return gone.length < stepRows;
      }),
  };
}

function conditions(
  { actor_id, action, object, object_id, after, before }: AuditFilter,
  below: number | null,
) {
  return and(
    below === null ? undefined : lt(audit.seq, below),
    actor_id === null ? undefined : eq(audit.actor_id, actor_id),
    action === null ? undefined : eq(audit.action, action),
    object === null ? undefined : eq(audit.object, object),
    object_id === null ? undefined : eq(audit.object_id, object_id),
    after === null ? undefined : gte(audit.at, after),
    before === null ? undefined : lt(audit.at, before),
  );
}
