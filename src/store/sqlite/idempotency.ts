import { eq, lte, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { idempotencyMs } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import type { KnownRequest } from "../../domain/idempotency.ts";
import { isoTime } from "../../domain/time.ts";
import type { IdempotencyStore } from "../idempotency.ts";
import type { Commit } from "./database/commit.ts";
import { idempotencyKeys } from "./schema/admin.ts";

export function idempotencyStore(orm: BunSQLiteDatabase, commit: Commit): IdempotencyStore {
  const isIt = eq(idempotencyKeys.key, sql.placeholder("key"));
  const find = orm.select().from(idempotencyKeys).where(isIt).limit(1).prepare();
  const remove = orm.delete(idempotencyKeys).where(isIt).prepare();

  const begin = (key: string, fingerprint: Uint8Array, now: number): KnownRequest => {
    const known = find.get({ key });
    if (known && known.first_seen_at > now - idempotencyMs) {
      const { first_seen_at: firstSeenAt, status, answer } = known;
      if (!known.fingerprint.equals(fingerprint)) {
        const message = `The Idempotency-Key ${key} came with another body at ${isoTime(firstSeenAt)}`;
        throw new DomainError("conflict", message);
      }
      return { firstSeenAt, answer: status === null ? null : { status, body: answer ?? "" } };
    }
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
