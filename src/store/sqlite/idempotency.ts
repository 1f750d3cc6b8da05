import { eq, lte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { idempotencyMs } from "../../domain/deliveries.ts";
import { type KnownRequest, knownRequest } from "../../domain/idempotency.ts";
import type { IdempotencyStore } from "../idempotency.ts";
import type { Commit } from "./database/commit.ts";
import { idempotencyKeys } from "./schema/admin.ts";

export function idempotencyStore(orm: BunSQLiteDatabase, commit: Commit): IdempotencyStore {
  const isIt = eq(idempotencyKeys.key, sql.placeholder("key"));
  const find = orm.select().from(idempotencyKeys).where(isIt).limit(1).prepare();
  const remove = orm.delete(idempotencyKeys).where(isIt).prepare();

  const begin = (key: string, fingerprint: Uint8Array, now: number): KnownRequest => {
    const stored = find.get({ key });
    const known = stored ? knownRequest(stored, key, fingerprint, now) : null;
    if (known) return known;
    remove.run({ key });
    const row = { key, fingerprint: Buffer.from(fingerprint), first_seen_at: now };
    orm.insert(idempotencyKeys).values(row).run();
    return { firstSeenAt: now, answer: null };
  };

  return {
    begin: (key, fingerprint, now) => commit(() => begin(key, fingerprint, now)),
    finish: (key, { status, body }) =>
      commit(() => {
        orm.update(idempotencyKeys).set({ status, answer: body }).where(eq(idempotencyKeys.key, key)).run();
      }),
    release: (key) => commit(() => void remove.run({ key })),
    removeExpired: (now) =>
      commit(
        () =>
          orm
            .delete(idempotencyKeys)
            .where(lte(idempotencyKeys.first_seen_at, now - idempotencyMs))
            .returning({ key: idempotencyKeys.key })
            .all().length,
      ),
  };
}
