import { and, eq, gt, inArray, sql } from "drizzle-orm";
import {
  goodClientSecrets,
  replacedClientSecret,
  replacedWebhookSecret,
  type StoredSecrets,
  secretsInForce,
} from "../../domain/application-secrets.ts";
import {
  type Application,
  type ApplicationChanges,
  isSearch,
  type Rotation,
  receives,
  searched,
  usesOnlyStream,
} from "../../domain/applications.ts";
import { once } from "../../domain/lazily.ts";
import { isoTime } from "../../domain/time.ts";
import { sessionFamily } from "../../domain/tokens.ts";
import type { ApplicationStore } from "../applications.ts";
import type { Postgres, Queries } from "./database/pool.ts";
import { endPending } from "./deliveries/cancel.ts";
import { renewEndpoint, troubledEndpoints } from "./endpoints.ts";
import { applications, tokens } from "./schema/access.ts";

const shown = {
  id: applications.id,
  name: applications.name,
  client_type: applications.client_type,
  delivery: applications.delivery,
  webhook_url: applications.webhook_url,
  webhook_secret: applications.webhook_secret,
  retired_webhook_secrets: applications.retired_webhook_secrets,
  scopes: applications.scopes,
  redirect_uris: applications.redirect_uris,
  rate_limit: applications.rate_limit,
  subscription_limit: applications.subscription_limit,
  webhook_concurrency: applications.webhook_concurrency,
  locked: applications.locked,
  owner_user_id: applications.owner_user_id,
  disabled: applications.disabled,
  endpoint_generation: applications.endpoint_generation,
  created_at: applications.created_at,
  updated_at: applications.updated_at,
};

const secret = {
  client_secret_hash: applications.client_secret_hash,
  retired_client_secrets: applications.retired_client_secrets,
  client_secret_prefix: applications.client_secret_prefix,
  client_secret_created_at: applications.client_secret_created_at,
  webhook_secret: applications.webhook_secret,
  retired_webhook_secrets: applications.retired_webhook_secrets,
  webhook_secret_created_at: applications.webhook_secret_created_at,
  client_type: applications.client_type,
  disabled: applications.disabled,
};

/** What a search compares. */
const compared = {
  id: applications.id,
  name: applications.name,
  delivery: applications.delivery,
  webhook_url: applications.webhook_url,
  disabled: applications.disabled,
};

export function applicationStore(db: Postgres): ApplicationStore {
  const { orm } = db;
  const isIt = eq(applications.id, sql.placeholder("id"));
  const find = once(() => orm.select(shown).from(applications).where(isIt).prepare("application"));
  const secrets = once(() => orm.select(secret).from(applications).where(isIt).prepare("secrets"));
  const secretsOf = async (id: string) => (await secrets().execute({ id }))[0] ?? null;

  const change = async (
    { orm }: Queries,
    id: string,
    set: Partial<typeof applications.$inferInsert>,
    now: number,
  ): Promise<Application | null> => {
    const changed = await orm
      .update(applications)
      .set({ ...set, updated_at: isoTime(now) })
      .where(eq(applications.id, id))
      .returning(shown);
    return changed[0] ?? null;
  };

  const endSessions = async ({ orm }: Queries, id: string): Promise<void> => {
    await orm.delete(tokens).where(eq(tokens.family_id, sessionFamily(id)));
  };

  const rotate = (
    id: string,
    { now }: Rotation,
    replaced: (stored: StoredSecrets) => Partial<typeof applications.$inferInsert>,
    also?: (transaction: Queries, id: string) => Promise<void>,
  ) =>
    db.transact(async (transaction) => {
      const isThis = eq(applications.id, id);
      const [stored] = await transaction.orm.select(secret).from(applications).where(isThis).for("update");
      if (!stored) return null;
      const changed = await change(transaction, id, replaced(stored), now);
      await also?.(transaction, id);
      return changed;
    });

  const update = (id: string, changes: ApplicationChanges, now: number) =>
    db.transact(async (transaction) => {
      const { orm } = transaction;
      const [before] = await orm
        .select({ webhook_url: applications.webhook_url, owner_user_id: applications.owner_user_id })
        .from(applications)
        .where(eq(applications.id, id))
        .for("update");
      const changed = before ? await change(transaction, id, changes, now) : null;
      if (!before || !changed) return null;
      if (changed.owner_user_id !== before.owner_user_id) await endSessions(transaction, id);
      if (!receives(changed)) await endPending(transaction, id, "canceled", now);
      else if (usesOnlyStream(changed)) await endPending(transaction, id, "delivered", now);
      // Another URL is another endpoint, of which nothing is known, and the stream cannot fail.
      const isAnother = changed.webhook_url !== before.webhook_url || changes.delivery === "stream";
      const generation = isAnother ? await renewEndpoint(transaction, id, now) : null;
      return generation === null ? changed : { ...changed, endpoint_generation: generation };
    });

  return {
    async create(application) {
      const made = Date.parse(application.created_at);
      await orm.insert(applications).values({
        ...application,
        client_secret_hash: Buffer.from(application.client_secret_hash ?? []),
        client_secret_created_at: made,
        webhook_secret_created_at: made,
      });
    },
    update,
    remove: (id, now) =>
      db.transact(async (transaction) => {
        const { orm } = transaction;
        const gone = orm.delete(applications).where(eq(applications.id, id));
        const isGone = (await gone.returning({ id: applications.id })).length > 0;
        if (isGone) await endPending(transaction, id, "canceled", now);
        return isGone;
      }),
    rotateClientSecret: (id, secret, rotation) =>
      rotate(id, rotation, (stored) => replacedClientSecret(stored, secret, rotation), endSessions),
    rotateWebhookSecret: (id, secret, rotation) =>
      rotate(id, rotation, (stored) => replacedWebhookSecret(stored, secret, rotation)),
    find: async (id) => (await find().execute({ id }))[0] ?? null,
    async clientSecretHashes(id, now) {
      const stored = await secretsOf(id);
      return stored ? goodClientSecrets(stored, now) : [];
    },
    async secretsInForce(id, now) {
      const stored = await secretsOf(id);
      return stored ? secretsInForce(stored, now) : [];
    },
    all: async () => orm.select(shown).from(applications).orderBy(applications.id),
    async page(after, limit, filter = {}) {
      const { ids, owner_user_id } = filter;
      const isWanted = and(
        gt(applications.id, after),
        owner_user_id === undefined ? undefined : eq(applications.owner_user_id, owner_user_id),
        ids === undefined ? undefined : inArray(applications.id, [...ids]),
      );
      const ordered = () => orm.select(shown).from(applications).orderBy(applications.id).limit(limit);
      if (!isSearch(filter)) return ordered().where(isWanted);
      const all = await orm.select(compared).from(applications).where(isWanted).orderBy(applications.id);
      const found = searched(all, filter, await troubledEndpoints(db), limit);
      return found.length === 0 ? [] : ordered().where(inArray(applications.id, found));
    },
  };
}
