import { eq, getTableColumns, gt, inArray, type SQL, sql } from "drizzle-orm";
import { sessionFamily } from "../../domain/tokens.ts";
import { type NewUser, type RemovedUser, refusedUsername, type UserStore } from "../../domain/users.ts";
import { forgetUser } from "./audit.ts";
import { keepEach, rowsToRename, temporaryName } from "./batches.ts";
import { type Dialect, execute, lockOwner, type Orm, type Work } from "./dialect.ts";
import { cancelRemoved } from "./endpoints.ts";
import { removeMostOfUser } from "./removal.ts";

/** The steps that store a batch of users, inside a transaction. */
interface Putting {
  /** Stores users in their order. Fails when a username is taken. */
  put(orm: Orm, users: readonly NewUser[]): Work<void>;
  /** Called before a user of the batch gets a temporary name. */
  renaming?(id: number): void;
  /** Called when all users are stored. */
  finish?(orm: Orm): Work<void>;
}

/** Statements specific to a database. */
interface OwnStatements {
  /** `now` is the `created_at` of a new user that has none. */
  putting(now: string): Putting;
  /** Condition: a user has this username. Uses the expression of the index of usernames. */
  isNamed(username: string): SQL;
  /** Removes an existing user from the search index. */
  unindex(orm: Orm, id: number): Work<void>;
}

/** Lowercases ASCII letters only, because some other characters have an ASCII letter as their lower case. */
export const lower = (username: string) => username.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

const named = ({ id, username }: { readonly id: number; readonly username: string }) => {
  return { id, name: lower(username) };
};

/** The part of the `UserStore` that both databases share: all but `find` and the search. */
export function userRecords(
  db: Dialect,
  { putting, isNamed, unindex }: OwnStatements,
): Pick<UserStore, "upsert" | "byIds" | "page" | "remove" | "exists"> {
  const { orm, tables, transact, prepared, lock, isOneOf } = db;
  const { applications, channels, subscriptions, tokens, users } = tables;
  // Without the folded names, a column that only PostgreSQL has.
  const { folded: _, ...ownColumns } = { folded: null, ...getTableColumns(users) };
  const one = prepared("user", (orm) =>
    orm
      .select({ id: users.id })
      .from(users)
      .where(eq(users.id, sql.placeholder("id"))),
  );

  const some = prepared("users_by_id", (orm) =>
    orm
      .select(ownColumns)
      .from(users)
      .where(isOneOf(users.id, sql.placeholder("ids"))),
  );

  /**
   * Frees the usernames that an atomic batch moves from one of its users to another. Called before the batch is stored.
   */
  function* freeNames(orm: Orm, batch: readonly NewUser[], { renaming }: Putting): Work<void> {
    const ids = batch.map(({ id }) => id);
    const columns = { id: users.id, username: users.username };
    const known = yield* execute(orm.select(columns).from(users).where(isOneOf(users.id, ids)));
    for (const id of rowsToRename(known.map(named), batch.map(named))) {
      renaming?.(id);
      yield* execute(
        orm
          .update(users)
          .set({ username: temporaryName(id) })
          .where(eq(users.id, id)),
      );
    }
  }

  function* refusal(orm: Orm, { username }: NewUser): Work<string | null> {
    const [owner] = yield* execute(orm.select({ id: users.id }).from(users).where(isNamed(username)));
    return owner ? `username "${username}" is taken by user ${owner.id}` : null;
  }

  return {
    upsert(batch, now, mode = {}) {
      const own = putting(now);
      const { put, finish } = own;
      return keepEach(db, batch, mode, {
        refused: ({ username }) => refusedUsername(username),
        begin: (orm, rows) => freeNames(orm, rows, own),
        put,
        refusal,
        ...(finish && { finish }),
      });
    },
    byIds: async (ids) => some(orm, { ids }),
    page: async (after, limit) =>
      orm.select(ownColumns).from(users).where(gt(users.id, after)).orderBy(users.id).limit(limit),
    async remove(id, now) {
      await removeMostOfUser(db, id);
      return transact(function* (orm): Work<RemovedUser> {
        const ofOwner = orm
          .select({ id: applications.id })
          .from(applications)
          .where(eq(applications.owner_user_id, id))
          .orderBy(applications.id);
        // A session that is being created waits for this lock. All transactions lock applications first, then users,
        // then rows.
        const owned = yield* execute(lock(ofOwner, "update"));
        if (!(yield* lockOwner(db, orm, users, id, "update"))) return { channelIds: [], subscriptions: [] };
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
        yield* cancelRemoved(db, orm, removed, now);
        const sessions = owned.map((application) => sessionFamily(application.id));
        yield* execute(orm.delete(tokens).where(inArray(tokens.family_id, sessions)));
        yield* unindex(orm, id);
        yield* forgetUser(db, orm, id);
        yield* execute(orm.delete(users).where(eq(users.id, id))); // removes the rows that refer to it, by cascade
        return { channelIds: gone.map((channel) => channel.id), subscriptions: removed };
      });
    },
    exists: async (id) => (await one(orm, { id })).length > 0,
  };
}

/** The most keys of one lookup. */
const mostKeys = 256;

/** Lookups that share one call. */
interface Group<Row> {
  readonly keys: Set<string>;
  readonly rows: Promise<ReadonlyMap<string, Row>>;
}

/**
 * Makes a function that looks up a row by its key. Lookups that directly follow each other share one call of `find`:
 * one statement on PostgreSQL, one transaction on SQLite, which then takes its locks only once. These are lookups of
 * the same synchronous code, and of requests that continue together (`endOfTick`) and then await equally often.
 *
 * @param find returns the rows that exist, by key
 */
export function groupedReads<Row>(
  find: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (key: string) => Promise<Row | null> {
  let current: Group<Row> | null = null;

  const begin = (): Group<Row> => {
    const keys = new Set<string>();
    const rows = Promise.resolve().then(() => {
      if (current?.keys === keys) current = null;
      return find([...keys]);
    });
    return { keys, rows };
  };

  return async (key) => {
    current ??= begin();
    const { keys, rows } = current;
    keys.add(key);
    if (keys.size === mostKeys) current = null;
    return (await rows).get(key) ?? null;
  };
}
