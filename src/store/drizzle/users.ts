import { eq, getTableColumns, gt, inArray, sql } from "drizzle-orm";
import { sessionFamily } from "../../domain/tokens.ts";
import type { RemovedUser, UserStore } from "../users.ts";
import { type Dialect, execute, type Orm, type Work } from "./dialect.ts";
import type { CancelSubscriptions } from "./subscriptions.ts";

/**
 * Users apart from how they are kept, found by name and searched.
 *
 * @param unindex takes a user that exists out of the search
 */
export function userRecords(
  { orm, tables, transact, prepared, lock }: Dialect,
  cancel: CancelSubscriptions,
  unindex: (orm: Orm, id: number) => Work<void>,
): Pick<UserStore, "page" | "remove" | "exists" | "count"> {
  const { applications, channels, subscriptions, tokens, users } = tables;
  const { folded: _, ...shown } = getTableColumns(users);
  const one = prepared("user", (orm) =>
    orm
      .select({ id: users.id })
      .from(users)
      .where(eq(users.id, sql.placeholder("id"))),
  );
  return {
    page: async (after, limit) =>
      orm.select(shown).from(users).where(gt(users.id, after)).orderBy(users.id).limit(limit),
    remove: (id, now) =>
      transact(function* (orm): Work<RemovedUser> {
        const ofOwner = orm
          .select({ id: applications.id })
          .from(applications)
          .where(eq(applications.owner_user_id, id))
          .orderBy(applications.id);
        // A session that is begun meanwhile waits. Every transaction locks applications, then users, then their rows.
        const owned = yield* execute(lock(ofOwner, "update"));
        const user = orm.select({ id: users.id }).from(users).where(eq(users.id, id));
        if ((yield* execute(lock(user, "update"))).length === 0) return { channelIds: [], subscriptions: [] };
        const gone = yield* execute(
          orm.select({ id: channels.id }).from(channels).where(eq(channels.user_id, id)),
        );
        const ended = yield* execute(
          orm
            .delete(subscriptions)
            .where(eq(subscriptions.broadcaster_user_id, id))
            .returning({ id: subscriptions.id, app_id: subscriptions.app_id }),
        );
        const removed = [...Map.groupBy(ended, ({ app_id }) => app_id)].map(([application_id, some]) => ({
          application_id,
          ids: some.map((one) => one.id),
        }));
        yield* cancel(orm, removed, now);
        const sessions = owned.map((application) => sessionFamily(application.id));
        yield* execute(orm.delete(tokens).where(inArray(tokens.family_id, sessions)));
        yield* unindex(orm, id);
        yield* execute(orm.delete(users).where(eq(users.id, id))); // what refers to it goes with it
        return { channelIds: gone.map((channel) => channel.id), subscriptions: removed };
      }),
    exists: async (id) => (await one(orm, { id })).length > 0,
    count: async () => orm.$count(users),
  };
}
