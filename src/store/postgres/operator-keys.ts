import { and, desc, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { checkNewKey, checkRevocation, type OperatorKey } from "../../domain/operator-keys.ts";
import { maxOperatorSessions, type OperatorKeyStore } from "../operator-keys.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { operatorKeys, operatorSessions as sessions } from "./schema/admin.ts";

export function operatorKeyStore(db: Postgres): OperatorKeyStore {
  const { orm } = db;
  const isIt = (id: string) => eq(operatorKeys.id, id);
  const isSession = (hash: Uint8Array) => eq(sessions.hash, Buffer.from(hash));
  const all = async ({ orm }: Pick<Queries, "orm">): Promise<OperatorKey[]> =>
    orm.select().from(operatorKeys).orderBy(operatorKeys.created_at, operatorKeys.id);

  /** One at a time: whether a change is allowed depends on the other keys. */
  const alone = <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
    db.transact(async (transaction) => {
      await transaction.orm.execute(sql`LOCK TABLE ${operatorKeys} IN SHARE ROW EXCLUSIVE MODE`);
      return work(transaction);
    });

  const create = async (queries: Queries, key: OperatorKey) => {
    checkNewKey(await all(queries), key);
    await queries.orm.insert(operatorKeys).values(key);
  };

  return {
    all: () => all(db),
    create: (key) => alone((queries) => create(queries, key)),
    generate: (key) =>
      alone(async ({ orm }) => {
        const unshown = and(eq(operatorKeys.source, "generated"), isNull(operatorKeys.shown_at));
        await orm.delete(operatorKeys).where(unshown);
        await orm.insert(operatorKeys).values(key);
      }),
    async markShown(id, now) {
      await orm.update(operatorKeys).set({ shown_at: now }).where(isIt(id));
    },
    async endGenerated() {
      await orm.delete(operatorKeys).where(eq(operatorKeys.source, "generated"));
    },
    reset: (key) =>
      alone(async (queries) => {
        const isOperator = eq(operatorKeys.role, "operator");
        const ended = queries.orm.delete(operatorKeys).where(isOperator).returning({ id: operatorKeys.id });
        const { length } = await ended;
        await create(queries, key);
        return length;
      }),
    revoke: (id, now, hasOther) =>
      alone(async (queries) => {
        checkRevocation(await all(queries), id, now, hasOther);
        await queries.orm.delete(operatorKeys).where(isIt(id));
      }),
    async noteUse(id, at) {
      await orm.update(operatorKeys).set({ last_used_at: at }).where(isIt(id));
    },
    beginSession: (hash, expires_at, now) =>
      db.transact(async ({ orm }) => {
        const { expires_at: at } = sessions;
        const tooMany = orm
          .select({ at })
          .from(sessions)
          .orderBy(desc(at))
          .limit(1)
          .offset(maxOperatorSessions - 1);
        await orm.delete(sessions).where(or(lte(at, now), lte(at, tooMany)));
        await orm.insert(sessions).values({ hash: Buffer.from(hash), expires_at });
      }),
    async hasSession(hash, now) {
      const isOpen = and(isSession(hash), gt(sessions.expires_at, now));
      return (await orm.select({ at: sessions.expires_at }).from(sessions).where(isOpen)).length > 0;
    },
    async endSession(hash) {
      await orm.delete(sessions).where(isSession(hash));
    },
  };
}
