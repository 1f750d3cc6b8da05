import { and, asc, desc, eq, gt, inArray, lt, lte, max } from "drizzle-orm";
import { type NewNotice, type Notice, noticeLimits } from "../../../domain/operations/notices.ts";
import type { NoticeStore } from "../../operations/notices.ts";
import type { Postgres, Queries } from "../database/pool.ts";
import { keepNewest } from "../newest.ts";
import { applications } from "../schema/access.ts";
import { notices } from "../schema/notices.ts";

/** Rows that one step removes. */
const stepRows = 500;

export function noticeStore(db: Postgres): NoticeStore {
  const { orm } = db;
  return {
    put: (notice) =>
      db.transact(async (transaction) => {
        const known = await transaction.orm
          .update(notices)
          .set(notice.sending)
          .where(eq(notices.id, notice.id))
          .returning({ seq: notices.seq });
        if (known.length === 0) await addNotice(transaction, notice);
      }),
    async behind(applicationId, after, limit) {
      const isIts = and(eq(notices.application_id, applicationId), gt(notices.seq, after));
      const rows = await orm.select().from(notices).where(isIts).orderBy(asc(notices.seq)).limit(limit);
      return rows.map(noticeOf);
    },
    async page(applicationId, below, limit) {
      const isIts = applicationId === null ? undefined : eq(notices.application_id, applicationId);
      const isBelow = below === null ? undefined : lt(notices.seq, below);
      const rows = await orm
        .select()
        .from(notices)
        .where(and(isIts, isBelow))
        .orderBy(desc(notices.seq))
        .limit(limit);
      return rows.map(noticeOf);
    },
    async lastBefore(time) {
      const found = await orm
        .select({ seq: max(notices.seq) })
        .from(notices)
        .where(lt(notices.created_at, time));
      return found[0]?.seq ?? 0;
    },
    async claim(now, until, limit) {
      const due = orm
        .select({ seq: notices.seq })
        .from(notices)
        .where(and(eq(notices.status, "pending"), lte(notices.next_attempt_at, now)))
        .orderBy(asc(notices.next_attempt_at), asc(notices.seq))
        .limit(limit)
        .for("update", { skipLocked: true });
      const rows = await orm
        .update(notices)
        .set({ next_attempt_at: until })
        .where(inArray(notices.seq, due))
        .returning();
      return rows.sort((a, b) => a.seq - b.seq).map(noticeOf);
    },
    async prune(before) {
      const old = orm
        .select({ seq: notices.seq })
        .from(notices)
        .where(lt(notices.created_at, before))
        .limit(stepRows);
      const gone = await orm.delete(notices).where(inArray(notices.seq, old)).returning({ seq: notices.seq });
      return gone.length < stepRows;
    },
  };
}

/** Adds a notice that is not there yet, inside a transaction, where its application still exists. */
export async function addNotice(transaction: Queries, { sending, ...notice }: NewNotice): Promise<void> {
  const { application_id } = notice;
  const { orm } = transaction;
  if (application_id !== null) {
    // Locked, so that numbers of one application become visible in their order, as its stream reads them.
    const [found] = await orm
      .select({ id: applications.id })
      .from(applications)
      .where(eq(applications.id, application_id))
      .for("no key update");
    if (!found) return;
  }
  await orm
    .insert(notices)
    .values({ ...notice, ...sending })
    .onConflictDoNothing();
  const table = { table: notices, made: notices.seq };
  if (application_id !== null) {
    const where = eq(notices.application_id, application_id);
    await keepNewest(transaction, { ...table, where, keep: noticeLimits.ofApplication });
  }
  await keepNewest(transaction, { ...table, where: undefined, keep: noticeLimits.all });
}

function noticeOf({
  status,
  attempts,
  next_attempt_at,
  error,
  ...notice
}: typeof notices.$inferSelect): Notice {
  return { ...notice, sending: { status, attempts, next_attempt_at, error } };
}
