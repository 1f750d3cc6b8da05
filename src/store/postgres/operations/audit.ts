import { and, desc, eq, getTableColumns, gte, inArray, lt, sql } from "drizzle-orm";
import {
  type AuditFilter,
  auditLimits,
  auditMergeKey,
  type NewAuditEntry,
} from "../../../domain/operations/audit.ts";
import type { AuditStore } from "../../operations/audit.ts";
import type { Postgres, Queries } from "../database/pool.ts";
import { keepNewest } from "../newest.ts";
import { audit } from "../schema/audit.ts";

/** Rows that one step removes. */
const stepRows = 500;

export function auditStore(db: Postgres): AuditStore {
  const { orm } = db;
  const { merge_key, ...shown } = getTableColumns(audit);
  return {
    add: (entry) =>
      db.transact(async (transaction) => {
        await transaction.orm.insert(audit).values(entry);
        await trim(transaction, entry);
      }),
    count: (entries) =>
      db.transact(async (transaction) => {
        // In one order, so that two processes do not wait for each other.
        const inOrder = entries
          .map((entry) => ({ ...entry, merge_key: auditMergeKey(entry) }))
          .sort((a, b) => (a.merge_key < b.merge_key ? -1 : 1));
        for (const entry of inOrder) {
          await transaction.orm
            .insert(audit)
            .values(entry)
            .onConflictDoUpdate({
              target: audit.merge_key,
              set: {
                count: sql`${audit.count} + excluded.count`,
                last_at: sql`greatest(${audit.last_at}, excluded.last_at)`,
                request_id: sql`excluded.request_id`,
              },
            });
          await trim(transaction, entry);
        }
      }),
    page: async (filter, below, limit) =>
      orm.select(shown).from(audit).where(conditions(filter, below)).orderBy(desc(audit.seq)).limit(limit),
    async prune(before) {
      const old = orm.select({ seq: audit.seq }).from(audit).where(lt(audit.at, before)).limit(stepRows);
      const gone = await orm.delete(audit).where(inArray(audit.seq, old)).returning({ seq: audit.seq });
      return gone.length < stepRows;
    },
  };
}

async function trim(queries: Queries, { actor_kind, actor_id }: NewAuditEntry): Promise<void> {
  const table = { table: audit, made: audit.seq };
  if (actor_kind === "application") {
    await keepNewest(queries, {
      ...table,
      where: eq(audit.actor_id, actor_id),
      keep: auditLimits.ofApplication,
    });
  }
  await keepNewest(queries, { ...table, where: undefined, keep: auditLimits.all });
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
