import { eq, lte } from "drizzle-orm";
import { idempotencyMs } from "../../domain/deliveries.ts";
import { knownRequest } from "../../domain/idempotency.ts";
import type { IdempotencyStore } from "../idempotency.ts";
import type { Postgres } from "./database/pool.ts";
import { idempotencyKeys } from "./schema/admin.ts";

export function idempotencyStore(db: Postgres): IdempotencyStore {
  const { orm } = db;
  const isIt = (key: string) => eq(idempotencyKeys.key, key);
  return {
    begin: (key, fingerprint, now) =>
      db.transact(async ({ orm }) => {
        const row = { key, fingerprint: Buffer.from(fingerprint), first_seen_at: now };
        // Locks the row, new or known, so that of two requests with the same key one is the first.
        const put = orm.insert(idempotencyKeys).values(row);
        const [stored] = await put
          .onConflictDoUpdate({ target: idempotencyKeys.key, set: { key } })
          .returning();
        const known = stored ? knownRequest(stored, key, fingerprint, now) : null;
        if (known) return known;
        await orm
          .update(idempotencyKeys)
          .set({ ...row, status: null, answer: null })
          .where(isIt(key));
        return { firstSeenAt: now, answer: null };
      }),
    async finish(key, { status, body }) {
      await orm.update(idempotencyKeys).set({ status, answer: body }).where(isIt(key));
    },
    async release(key) {
      await orm.delete(idempotencyKeys).where(isIt(key));
    },
    async removeExpired(now) {
      const expired = orm
        .delete(idempotencyKeys)
        .where(lte(idempotencyKeys.first_seen_at, now - idempotencyMs));
      return (await expired.returning({ key: idempotencyKeys.key })).length;
    },
  };
}
