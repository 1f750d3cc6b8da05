import { and, desc, eq, gt, isNull, lte, or } from "drizzle-orm";
import {
  checkNewKey,
  checkRevocation,
  maxOperatorSessions,
  type OperatorKey,
  type OperatorKeyStore,
} from "../../domain/operator-keys.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";

export function operatorKeyStore(db: Dialect): OperatorKeyStore {
  const { orm, tables, write } = db;
  const { operatorKeys, operatorSessions: sessions } = tables;
  const isIt = (id: string) => eq(operatorKeys.id, id);
  const isSession = (hash: Uint8Array) => eq(sessions.hash, Buffer.from(hash));
  const allOf = (orm: Orm) =>
    orm.select().from(operatorKeys).orderBy(operatorKeys.created_at, operatorKeys.id);

  /** Runs changes of keys one at a time: whether one is allowed depends on the other keys. */
  const exclusively = <T>(work: (orm: Orm) => Work<T>): Promise<T> =>
    db.transact(function* (orm) {
      yield* db.lockTable(orm, operatorKeys, "changes");
      return yield* work(orm);
    });

  function* create(orm: Orm, key: OperatorKey): Work<void> {
    checkNewKey(yield* execute(allOf(orm)), key);
    yield* execute(orm.insert(operatorKeys).values(key));
  }

  return {
    all: async () => allOf(orm),
    create: (key) => exclusively((orm) => create(orm, key)),
    generate: (key) =>
      exclusively(function* (orm) {
        const unshown = and(eq(operatorKeys.source, "generated"), isNull(operatorKeys.shown_at));
        yield* execute(orm.delete(operatorKeys).where(unshown));
        yield* execute(orm.insert(operatorKeys).values(key));
      }),
    markShown: (id, now) => write(orm.update(operatorKeys).set({ shown_at: now }).where(isIt(id))),
    endGenerated: () => write(orm.delete(operatorKeys).where(eq(operatorKeys.source, "generated"))),
    reset: (key) =>
      exclusively(function* (orm) {
        const isOperator = eq(operatorKeys.role, "operator");
        const ended = orm.delete(operatorKeys).where(isOperator).returning({ id: operatorKeys.id });
        const { length } = yield* execute(ended);
        yield* create(orm, key);
        return length;
      }),
    revoke: (id, now, hasOther) =>
      exclusively(function* (orm) {
        checkRevocation(yield* execute(allOf(orm)), id, now, hasOther);
        yield* execute(orm.delete(operatorKeys).where(isIt(id)));
        yield* execute(orm.delete(sessions).where(eq(sessions.key_id, id)));
      }),
    noteUse: (id, at) => write(orm.update(operatorKeys).set({ last_used_at: at }).where(isIt(id))),
    beginSession: ({ hash, key_id, expires_at }, now) =>
      db.transact(function* (orm) {
        const { expires_at: at } = sessions;
        const isOfKey = eq(sessions.key_id, key_id);
        const newestFirst = orm.select({ at }).from(sessions).where(isOfKey).orderBy(desc(at));
        const tooMany = newestFirst.limit(1).offset(maxOperatorSessions - 1);
        yield* execute(orm.delete(sessions).where(or(lte(at, now), and(isOfKey, lte(at, tooMany)))));
        yield* execute(orm.insert(sessions).values({ hash: Buffer.from(hash), key_id, expires_at }));
      }),
    async hasSession(hash, now) {
      const isOpen = and(isSession(hash), gt(sessions.expires_at, now));
      return (await orm.select({ at: sessions.expires_at }).from(sessions).where(isOpen)).length > 0;
    },
    endSession: (hash) => write(orm.delete(sessions).where(isSession(hash))),
  };
}
