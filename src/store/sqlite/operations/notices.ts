import { and, asc, desc, eq, gt, inArray, lt, lte, max, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { once } from "../../../domain/lazily.ts";
import { type NewNotice, type Notice, noticeLimits } from "../../../domain/operations/notices.ts";
import type { NoticeStore } from "../../operations/notices.ts";
import type { Commit } from "../database/commit.ts";
import { newestKeeper } from "../newest.ts";
import { applications } from "../schema/access.ts";
import { notices } from "../schema/notices.ts";

/** Rows that one step removes. */
const stepRows = 500;

export function noticeStore(orm: BunSQLiteDatabase, commit: Commit): NoticeStore {
  const add = noticeAdder(orm);
  const put = (notice: NewNotice): void => {
    const known = orm
      .update(notices)
      .set(notice.sending)
      .where(eq(notices.id, notice.id))
      .returning({ seq: notices.seq })
      .get();
    if (!known) add(notice);
  };
  const behind = once(() =>
    orm
      .select()
      .from(notices)
      .where(
        and(
          eq(notices.application_id, sql.placeholder("applicationId")),
          gt(notices.seq, sql.placeholder("after")),
        ),
      )
      .orderBy(asc(notices.seq))
      .limit(sql.placeholder("limit"))
      .prepare(),
  );
  const due = once(() =>
    orm
      .select()
      .from(notices)
      // The word itself, because a parameter would not match the partial index.
      .where(and(sql`${notices.status} = 'pending'`, lte(notices.next_attempt_at, sql.placeholder("now"))))
      .orderBy(asc(notices.next_attempt_at), asc(notices.seq))
      .limit(sql.placeholder("limit"))
      .prepare(),
  );

  return {
    put: (notice) => commit(() => put(notice)),
    behind: async (applicationId, after, limit) =>
      behind().all({ applicationId, after, limit }).map(noticeOf),
    async page(applicationId, below, limit) {
      const isIts = applicationId === null ? undefined : eq(notices.application_id, applicationId);
      const isBelow = below === null ? undefined : lt(notices.seq, below);
      const rows = orm
        .select()
        .from(notices)
        .where(and(isIts, isBelow))
        .orderBy(desc(notices.seq))
        .limit(limit)
        .all();
      return rows.map(noticeOf);
    },
    lastBefore: async (time) =>
      orm
        .select({ seq: max(notices.seq) })
        .from(notices)
        .where(lt(notices.created_at, time))
        .get()?.seq ?? 0,
    async claim(now, until, limit) {
      const found = due().all({ now, limit });
      if (found.length === 0) return [];
      await commit(() => {
        const seqs = found.map(({ seq }) => seq);
        orm.update(notices).set({ next_attempt_at: until }).where(inArray(notices.seq, seqs)).run();
      });
      return found.map(noticeOf);
    },
    prune: (before) =>
      commit(() => {
        const old = orm
          .select({ seq: notices.seq })
          .from(notices)
          .where(lt(notices.created_at, before))
          .limit(stepRows);
        return (
          orm.delete(notices).where(inArray(notices.seq, old)).returning({ seq: notices.seq }).all().length <
          stepRows
        );
      }),
  };
}

/** Adds a notice that is not there yet, inside a transaction, where its application still exists. */
export function noticeAdder(orm: BunSQLiteDatabase): (notice: NewNotice) => void {
  const keepOfApplication = once(() =>
    newestKeeper(orm, {
      table: notices,
      where: eq(notices.application_id, sql.placeholder("owner")),
      keep: noticeLimits.ofApplication,
    }),
  );
  const keepNewest = once(() =>
    newestKeeper(orm, { table: notices, where: undefined, keep: noticeLimits.all }),
  );
  const exists = (id: string) =>
    orm.select({ id: applications.id }).from(applications).where(eq(applications.id, id)).limit(1).get();
  return ({ sending, ...notice }) => {
    const { application_id } = notice;
    if (application_id !== null && !exists(application_id)) return;
    orm
      .insert(notices)
      .values({ ...notice, ...sending })
      .onConflictDoNothing()
      .run();
    if (application_id !== null) keepOfApplication()(application_id);
    keepNewest()("");
  };
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
