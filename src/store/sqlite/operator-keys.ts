import { and, desc, eq, gt, isNull, lte, or } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { checkNewKey, checkRevocation, type OperatorKey } from "../../domain/operator-keys.ts";
import { maxOperatorSessions, type OperatorKeyStore } from "../operator-keys.ts";
import type { Commit } from "./database/commit.ts";
import { operatorKeys, operatorSessions as sessions } from "./schema/admin.ts";

export function operatorKeyStore(orm: BunSQLiteDatabase, commit: Commit): OperatorKeyStore {
  const all = (): OperatorKey[] =>
    orm.select().from(operatorKeys).orderBy(operatorKeys.created_at, operatorKeys.id).all();
  const isIt = (id: string) => eq(operatorKeys.id, id);

  const create = (key: OperatorKey): void => {
    checkNewKey(all(), key);
    orm.insert(operatorKeys).values(key).run();
  };

  const revoke = (id: string, now: number, hasOther: boolean): void => {
    checkRevocation(all(), id, now, hasOther);
    orm.delete(operatorKeys).where(isIt(id)).run();
  };

  const beginSession = (hash: Uint8Array, expires_at: number, now: number): void => {
    const { expires_at: at } = sessions;
    const tooMany = orm
      .select({ at })
      .from(sessions)
      .orderBy(desc(at))
      .limit(1)
      .offset(maxOperatorSessions - 1);
    orm
      .delete(sessions)
      .where(or(lte(at, now), lte(at, tooMany)))
      .run();
    orm
      .insert(sessions)
      .values({ hash: Buffer.from(hash), expires_at })
      .run();
  };
  const isSession = (hash: Uint8Array) => eq(sessions.hash, Buffer.from(hash));

  return {
    all: async () => all(),
    create: (key) => commit(() => create(key)),
    generate: (key) =>
      commit(() => {
        const unshown = and(eq(operatorKeys.source, "generated"), isNull(operatorKeys.shown_at));
        orm.delete(operatorKeys).where(unshown).run();
        orm.insert(operatorKeys).values(key).run();
      }),
    markShown: (id, now) =>
      commit(() => {
        orm.update(operatorKeys).set({ shown_at: now }).where(isIt(id)).run();
      }),
    endGenerated: () =>
      commit(() => {
        orm.delete(operatorKeys).where(eq(operatorKeys.source, "generated")).run();
      }),
    reset: (key) =>
      commit(() => {
        const isOperator = eq(operatorKeys.role, "operator");
        const ended = orm.delete(operatorKeys).where(isOperator).returning({ id: operatorKeys.id }).all();
        create(key);
        return ended.length;
      }),
    revoke: (id, now, hasOther) => commit(() => revoke(id, now, hasOther)),
    noteUse: (id, at) =>
      commit(() => {
        orm.update(operatorKeys).set({ last_used_at: at }).where(isIt(id)).run();
      }),
    beginSession: (hash, expiresAt, now) => commit(() => beginSession(hash, expiresAt, now)),
    async hasSession(hash, now) {
      const isOpen = and(isSession(hash), gt(sessions.expires_at, now));
      return orm.select({ at: sessions.expires_at }).from(sessions).where(isOpen).get() !== undefined;
    },
    endSession: (hash) =>
      commit(() => {
        orm.delete(sessions).where(isSession(hash)).run();
      }),
  };
}
