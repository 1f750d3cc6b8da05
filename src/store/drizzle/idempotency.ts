import { and, eq, inArray, isNull, lte, sql } from "drizzle-orm";
import { expiredSince, type IdempotencyStore, knownRequest, released } from "../../domain/idempotency.ts";
import { type Dialect, execute } from "./dialect.ts";

/** The most keys that one step removes, because PostgreSQL ends long statements. */
const stepRows = 1_000;

export function idempotencyStore(db: Dialect): IdempotencyStore {
  const { orm, tables, write } = db;
  const { idempotencyKeys: keys } = tables;
  const isIt = (key: string) => eq(keys.key, key);
  return {
    begin: (key, fingerprint, now) =>
      db.transact(function* (orm) {
        const row = { key, fingerprint: Buffer.from(fingerprint), first_seen_at: now };
        // Locks the row, whether new or known, so that two requests with the same key are processed one after the
        // other.
        const put = orm.insert(keys).values(row).onConflictDoUpdate({ target: keys.key, set: { key } });
        const [stored] = yield* execute(put.returning());
        const known = stored ? knownRequest(stored, key, fingerprint, now) : null;
        if (known && !stored?.fingerprint.equals(released)) return known;
        const firstSeenAt = known?.firstSeenAt ?? now;
        const begun = { ...row, first_seen_at: firstSeenAt, status: null, answer: null };
        yield* execute(orm.update(keys).set(begun).where(isIt(key)));
        return { firstSeenAt, answer: null };
      }),
    finish: ({ key, fingerprint, firstSeenAt }, { status, body: answer }) =>
      db.runEach(function* (orm) {
        const row = {
          key,
          fingerprint: Buffer.from(fingerprint),
          first_seen_at: firstSeenAt,
          status,
          answer,
        };
        const isIts = inArray(keys.fingerprint, [row.fingerprint, released]);
        const kept = orm
          .insert(keys)
          .values(row)
          .onConflictDoUpdate({
            target: keys.key,
            set: row,
            setWhere: sql`${isIts} AND ${isNull(keys.status)}`,
          })
          .returning({ key: keys.key });
        return (yield* execute(kept)).length > 0;
      }),
    release({ key, fingerprint }) {
      const isSame = eq(keys.fingerprint, Buffer.from(fingerprint));
      return write(
        orm
          .update(keys)
          .set({ fingerprint: released })
          .where(and(isIt(key), isSame, isNull(keys.status))),
      );
    },
    removeExpired: (now) =>
      db.runEach(function* (orm) {
        const isExpired = lte(keys.first_seen_at, expiredSince(now));
        const some = orm
          .select({ key: keys.key })
          .from(keys)
          .where(isExpired)
          .orderBy(keys.first_seen_at)
          .limit(stepRows);
        const removed = orm.delete(keys).where(and(inArray(keys.key, some), isExpired));
        return (yield* execute(removed.returning({ key: keys.key }))).length;
      }),
  };
}
