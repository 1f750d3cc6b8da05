import { and, asc, desc, eq, gt, inArray, lt, lte, max, sql } from "drizzle-orm";
import { type NewNotice, type Notice, type NoticeStore, noticeLimits } from "../../domain/notices.ts";
import { type Dialect, execute, lockOwner, type Orm, type Tables, type Work } from "./dialect.ts";
import { newestKeeper, removeOld } from "./removal.ts";

export function noticeStore(db: Dialect): NoticeStore {
  const { orm, tables, transact, runEach, prepared } = db;
  const { notices } = tables;
  const { application_id, seq, created_at } = notices;
  const add = noticeAdder(db);
  const following = prepared("notices", (orm) =>
    orm
      .select()
      .from(notices)
      .where(and(eq(application_id, sql.placeholder("application")), gt(seq, sql.placeholder("after"))))
      .orderBy(asc(seq))
      .limit(sql.placeholder("limit")),
  );
  const dueIn = (orm: Orm, now: number, limit: number) =>
    orm
      .select({ seq })
      .from(notices)
      // A literal, because a parameter would not match the partial index.
      .where(and(sql`${notices.status} = 'pending'`, lte(notices.next_attempt_at, now)))
      .orderBy(asc(notices.next_attempt_at), asc(seq))
      .limit(limit);

  return {
    put: (notice) =>
      transact(function* (orm) {
        const isIt = eq(notices.id, notice.id);
        const known = orm.update(notices).set(notice.sending).where(isIt).returning({ seq });
        if ((yield* execute(known)).length === 0) yield* add(orm, notice);
      }),
    following: async (application, after, limit) =>
      (await following(orm, { application, after, limit })).map(noticeOf),
    async page(applicationId, below, limit) {
      const isIts = applicationId === null ? undefined : eq(application_id, applicationId);
      const isBelow = below === null ? undefined : lt(seq, below);
      const rows = await orm
        .select()
        .from(notices)
        .where(and(isIts, isBelow))
        .orderBy(desc(seq))
        .limit(limit);
      return rows.map(noticeOf);
    },
    async lastBefore(time) {
      const [last] = await orm
        .select({ seq: max(seq) })
        .from(notices)
        .where(lt(created_at, time));
      return last?.seq ?? 0;
    },
    async claim(now, until, limit) {
      // Read first, so that nothing is written while none is due.
      if ((await dueIn(orm, now, 1)).length === 0) return [];
      return runEach(function* (orm) {
        const due = db.lock(dueIn(orm, now, limit), "update", { skipLocked: true });
        const claimed = orm.update(notices).set({ next_attempt_at: until }).where(inArray(seq, due));
        return (yield* execute(claimed.returning())).sort((a, b) => a.seq - b.seq).map(noticeOf);
      });
    },
    prune: (before) => runEach((orm) => removeOld(orm, { table: notices, seq, at: created_at }, before)),
  };
}

/** Makes a function that adds a notice inside a transaction, unless it is already stored or its application is gone. */
export function noticeAdder(db: Dialect): (orm: Orm, notice: NewNotice) => Work<void> {
  const { applications, notices } = db.tables;
  const { ofApplication, all } = noticeLimits;
  const kept = { table: notices, made: notices.seq };
  const isIts = eq(notices.application_id, sql.placeholder("owner"));
  const keepOfOne = newestKeeper(db, "notices_of_one", { ...kept, where: isIts, keep: ofApplication });
  const keepNewest = newestKeeper(db, "notices_of_all", { ...kept, where: undefined, keep: all });
  return function* (orm, { sending, ...notice }) {
    const { application_id } = notice;
    if (application_id !== null) {
      // Locked, so that notices of one application become visible in the order of their numbers, which its stream
      // relies on.
      if (!(yield* lockOwner(db, orm, applications, application_id, "no key update"))) return;
    }
    const row = { ...notice, ...sending };
    yield* execute(orm.insert(notices).values(row).onConflictDoNothing());
    if (application_id !== null) yield* keepOfOne(orm, application_id);
    yield* keepNewest(orm, "");
  };
}

function noticeOf(row: Tables["notices"]["$inferSelect"]): Notice {
  const { status, attempts, next_attempt_at, error, ...notice } = row;
  return { ...notice, sending: { status, attempts, next_attempt_at, error } };
}
