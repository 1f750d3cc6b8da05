import { and, eq, getTableColumns, gt, inArray, sql } from "drizzle-orm";
import {
  type Application,
  type ApplicationStore,
  endOfPending,
  goodClientSecrets,
  isSearch,
  type Rotation,
  replacedClientSecret,
  replacedWebhookSecret,
  requireUnlocked,
  type StoredSecrets,
  searched,
  secretsInForce,
  withFormerUrl,
} from "../../domain/applications.ts";
import { atAnotherUrl, enabledAgain } from "../../domain/endpoints.ts";
import { DomainError } from "../../domain/errors.ts";
import { changedFilters } from "../../domain/filters.ts";
import { isoTime, second } from "../../domain/time.ts";
import { sessionFamily } from "../../domain/tokens.ts";
import { changedWebhookHeaders } from "../../domain/webhook-headers.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";
import { endAtOnce, endPending, renewEndpoint, troubledEndpoints } from "./endpoints.ts";
import { removeMostOfApplication } from "./removal.ts";

type Changes = Partial<Tables["applications"]["$inferInsert"]>;

/** The most pending deliveries that end in one transaction, and how long a call goes on with further ones. */
const endingLimits = { most: endAtOnce, forMs: 5 * second };

export function applicationStore(db: Dialect, { most, forMs } = endingLimits): ApplicationStore {
  const { orm, tables, transact, prepared, lock } = db;
  const { applications, subscriptions, tokens } = tables;
  const {
    client_secret_hash,
    retired_client_secrets,
    client_secret_prefix,
    client_secret_created_at,
    webhook_secret_created_at,
    ...columns
  } = getTableColumns(applications);
  const secret = {
    client_secret_hash,
    retired_client_secrets,
    client_secret_prefix,
    client_secret_created_at,
    webhook_secret: applications.webhook_secret,
    retired_webhook_secrets: applications.retired_webhook_secrets,
    webhook_secret_created_at,
    client_type: applications.client_type,
    disabled: applications.disabled,
  };
  /** The columns that a search reads. */
  const { id: idColumn, name, delivery, webhook_url, disabled } = applications;
  const compared = { id: idColumn, name, delivery, webhook_url, disabled };

  const hasId = eq(applications.id, sql.placeholder("id"));
  const find = prepared("application", (orm) => orm.select(columns).from(applications).where(hasId));
  const secrets = prepared("secrets", (orm) => orm.select(secret).from(applications).where(hasId));
  const secretsOf = async (id: string) => (await secrets(orm, { id }))[0] ?? null;
  const isIt = (id: string) => eq(applications.id, id);

  function* change(orm: Orm, id: string, set: Changes, now: number): Work<Application | null> {
    const changes = { ...set, updated_at: isoTime(now) };
    const [changed] = yield* execute(
      orm.update(applications).set(changes).where(isIt(id)).returning(columns),
    );
    return changed ?? null;
  }

  function* endSessions(orm: Orm, id: string): Work<void> {
    yield* execute(orm.delete(tokens).where(eq(tokens.family_id, sessionFamily(id))));
  }

  const rotate = (
    id: string,
    { now }: Rotation,
    replaced: (stored: StoredSecrets) => Changes,
    also?: (orm: Orm, id: string) => Work<void>,
  ) =>
    transact(function* (orm) {
      const query = orm.select(secret).from(applications).where(isIt(id));
      const [stored] = yield* execute(lock(query, "update"));
      if (!stored) return null;
      const changed = yield* change(orm, id, replaced(stored), now);
      if (also) yield* also(orm, id);
      return changed;
    });

  /** Returns "not all ended", and has changed nothing else, when more has to end before the application receives. */
  const tryUpdate = (...[id, changes, now, by]: Parameters<ApplicationStore["update"]>) =>
    transact(function* (orm) {
      const { webhook_url, webhook_headers, filters, filters_generation, owner_user_id, locked } =
        applications;
      const { former_urls, endpoint_generation } = applications;
      const compared = {
        webhook_url,
        former_urls,
        endpoint_generation,
        webhook_headers,
        filters,
        filters_generation,
        owner_user_id,
        locked,
        delivery,
        disabled,
      };
      const query = orm.select(compared).from(applications).where(isIt(id));
      const [before] = yield* execute(lock(query, "update"));
      if (before && by === "developer") requireUnlocked(before.locked, changes);
      if (!before) return null;
      const [endBefore, end] = [endOfPending(before), endOfPending({ ...before, ...changes })];
      if (endBefore !== null && end !== endBefore) {
        const haveAllEnded = yield* endPending(db, orm, id, { as: endBefore, now, most });
        if (!haveAllEnded && end !== "canceled") return "not all ended";
      }
      const { filters: filterChanges, ...others } = changes;
      const isAnother = changes.webhook_url !== undefined && changes.webhook_url !== before.webhook_url;
      const set = {
        ...others,
        ...(isAnother && { former_urls: withFormerUrl(before) }),
        webhook_headers: changedWebhookHeaders(before, changes),
        ...(filterChanges !== undefined && {
          filters: changedFilters(before.filters, filterChanges, now),
          filters_generation: before.filters_generation + 1,
        }),
      };
      const changed = yield* change(orm, id, set, now);
      if (!changed) return null;
      if (changed.owner_user_id !== before.owner_user_id) yield* endSessions(orm, id);
      if (end !== null) yield* endPending(db, orm, id, { as: end, now, most });
      // The stream cannot fail.
      if (!isAnother && changes.delivery !== "stream") return changed;
      const state = isAnother ? atAnotherUrl : enabledAgain;
      const generation = yield* renewEndpoint(tables, orm, id, now, state);
      return generation === null ? changed : { ...changed, endpoint_generation: generation };
    });

  const update: ApplicationStore["update"] = async (...given) => {
    const until = performance.now() + forMs;
    do {
      const updated = await tryUpdate(...given);
      if (updated !== "not all ended") return updated;
    } while (performance.now() < until);
    const message = "The application has pending deliveries that have to end first. Try again in a moment.";
    throw new DomainError("unavailable", message, { retryAfterSeconds: 1 });
  };

  /** Returns whether none is left to end. */
  const endMore = (id: string, now: number) =>
    transact(function* (orm) {
      const query = orm.select({ delivery, webhook_url, disabled }).from(applications).where(isIt(id));
      const [application] = yield* execute(lock(query, "no key update"));
      const end = application ? endOfPending(application) : null;
      return end === null || (yield* endPending(db, orm, id, { as: end, now, most }));
    });

  return {
    async create(application) {
      const made = Date.parse(application.created_at);
      const { filters = {} } = application;
      await db.write(
        orm.insert(applications).values({
          ...application,
          client_secret_hash: Buffer.from(application.client_secret_hash ?? []),
          client_secret_prefix: application.client_secret_prefix ?? "",
          client_secret_created_at: made,
          filters_generation: Object.keys(filters).length > 0 ? 1 : 0,
          webhook_secret_created_at: made,
        }),
      );
    },
    update,
    async endRest(id, now) {
      const until = performance.now() + forMs;
      while (!(await endMore(id, now)) && performance.now() < until);
    },
    async remove(id, now) {
      // From here on its tokens are refused, even if the removal is interrupted.
      if ((await update(id, { disabled: true }, now)) === null) return false;
      await removeMostOfApplication(db, id);
      return transact(function* (orm) {
        const gone = orm.delete(applications).where(isIt(id)).returning({ id: applications.id });
        const isGone = (yield* execute(gone)).length > 0;
        if (isGone) yield* endPending(db, orm, id, { as: "canceled", now, most });
        return isGone;
      });
    },
    rotateClientSecret: (id, secret, rotation) =>
      rotate(id, rotation, (stored) => replacedClientSecret(stored, secret, rotation), endSessions),
    rotateWebhookSecret: (id, secret, rotation) =>
      rotate(id, rotation, (stored) => replacedWebhookSecret(stored, secret, rotation)),
    find: async (id) => (await find(orm, { id }))[0] ?? null,
    async clientSecretHashes(id, now) {
      const stored = await secretsOf(id);
      return stored ? goodClientSecrets(stored, now) : [];
    },
    async secretsInForce(id, now) {
      const stored = await secretsOf(id);
      return stored ? secretsInForce(stored, now) : [];
    },
    subscribers: async ({ broadcaster_user_id, event, version }) =>
      orm
        .select({ id: applications.id, filters: applications.filters })
        .from(subscriptions)
        .innerJoin(applications, eq(applications.id, subscriptions.app_id))
        .where(
          and(
            eq(subscriptions.broadcaster_user_id, broadcaster_user_id),
            eq(subscriptions.event, event),
            eq(subscriptions.version, version),
          ),
        ),
    all: async () => orm.select(columns).from(applications).orderBy(applications.id),
    async page(after, limit, filter = {}) {
      const { ids, owner_user_id } = filter;
      const isWanted = and(
        gt(applications.id, after),
        owner_user_id === undefined ? undefined : eq(applications.owner_user_id, owner_user_id),
        ids === undefined ? undefined : inArray(applications.id, [...ids]),
      );
      const ordered = () => orm.select(columns).from(applications).orderBy(applications.id).limit(limit);
      if (!isSearch(filter)) return ordered().where(isWanted);
      const all = await orm.select(compared).from(applications).where(isWanted).orderBy(applications.id);
      const found = searched(all, filter, await troubledEndpoints(db), limit);
      return found.length === 0 ? [] : ordered().where(inArray(applications.id, found));
    },
  };
}
