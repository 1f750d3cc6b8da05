import { and, eq, gt, inArray, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import {
  goodClientSecrets,
  replacedClientSecret,
  replacedWebhookSecret,
  secretsInForce,
} from "../../domain/application-secrets.ts";
import {
  type Application,
  type ApplicationChanges,
  type HashedSecret,
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
import type { Commit } from "./database/commit.ts";
import { deliveryCanceler } from "./deliveries/cancel.ts";
import type { DeliveryModes } from "./deliveries/modes.ts";
import { endpointRenewer, troubledEndpoints } from "./endpoints.ts";
import { applications, tokens } from "./schema/access.ts";

const { client_secret_hash, retired_client_secrets, ...shown } = {
  id: applications.id,
  name: applications.name,
  client_type: applications.client_type,
  client_secret_hash: applications.client_secret_hash,
  delivery: applications.delivery,
  webhook_url: applications.webhook_url,
  webhook_secret: applications.webhook_secret,
  retired_webhook_secrets: applications.retired_webhook_secrets,
  retired_client_secrets: applications.retired_client_secrets,
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

/** What a search compares. */
const compared = {
  id: applications.id,
  name: applications.name,
  delivery: applications.delivery,
  webhook_url: applications.webhook_url,
  disabled: applications.disabled,
};

export function applicationStore(
  orm: BunSQLiteDatabase,
  commitNow: Commit,
  deliveryModes: DeliveryModes,
): ApplicationStore {
  const commit = deliveryModes.forgottenBy(commitNow);
  const cancel = once(() => deliveryCanceler(orm));
  const renewEndpoint = once(() => endpointRenewer(orm));
  const isIt = eq(applications.id, sql.placeholder("id"));
  const find = orm.select(shown).from(applications).where(isIt).limit(1).prepare();
  const secrets = orm
    .select({
      client_secret_hash,
      retired_client_secrets,
      client_secret_prefix: applications.client_secret_prefix,
      client_secret_created_at: applications.client_secret_created_at,
      webhook_secret: applications.webhook_secret,
      retired_webhook_secrets: applications.retired_webhook_secrets,
      webhook_secret_created_at: applications.webhook_secret_created_at,
      client_type: applications.client_type,
      disabled: applications.disabled,
    })
    .from(applications)
    .where(isIt)
    .limit(1)
    .prepare();

  const change = (id: string, set: Partial<typeof applications.$inferInsert>, now: number) =>
    orm
      .update(applications)
      .set({ ...set, updated_at: isoTime(now) })
      .where(eq(applications.id, id))
      .returning(shown)
      .get() ?? null;

  const endSessions = (id: string): void => {
    orm
      .delete(tokens)
      .where(eq(tokens.family_id, sessionFamily(id)))
      .run();
  };

  const rotateClientSecret = (id: string, secret: HashedSecret, rotation: Rotation): Application | null => {
    const stored = secrets.get({ id });
    if (!stored) return null;
    endSessions(id);
    return change(id, replacedClientSecret(stored, secret, rotation), rotation.now);
  };

  const rotateWebhookSecret = (id: string, secret: string, rotation: Rotation): Application | null => {
    const stored = secrets.get({ id });
    return stored ? change(id, replacedWebhookSecret(stored, secret, rotation), rotation.now) : null;
  };

  const update = (id: string, changes: ApplicationChanges, now: number): Application | null => {
    const before = find.get({ id });
    const changed = change(id, changes, now);
    if (!before || !changed) return null;
    if (changed.owner_user_id !== before.owner_user_id) endSessions(id);
    if (!receives(changed)) cancel().ofApplication(id, now);
    else if (usesOnlyStream(changed)) cancel().leftToStream(id, now);
    // Another URL is another endpoint, of which nothing is known, and the stream cannot fail.
    const isAnother = changed.webhook_url !== before.webhook_url || changes.delivery === "stream";
    const generation = isAnother ? renewEndpoint()(id, now) : null;
    return generation === null ? changed : { ...changed, endpoint_generation: generation };
  };

  return {
    create: (application) =>
      commit(() => {
        const made = Date.parse(application.created_at);
        const row = {
          ...application,
          client_secret_hash: Buffer.from(application.client_secret_hash ?? []),
          client_secret_created_at: made,
          webhook_secret_created_at: made,
        };
        orm.insert(applications).values(row).run();
      }),
    update: (id, changes, now) => commit(() => update(id, changes, now)),
    remove: (id, now) =>
      commit(() => {
        cancel().ofApplication(id, now);
        return (
          orm.delete(applications).where(eq(applications.id, id)).returning({ id: applications.id }).all()
            .length > 0
        );
      }),
    rotateClientSecret: (id, secret, rotation) => commit(() => rotateClientSecret(id, secret, rotation)),
    rotateWebhookSecret: (id, secret, rotation) => commit(() => rotateWebhookSecret(id, secret, rotation)),
    find: async (id) => find.get({ id }) ?? null,
    clientSecretHashes: async (id, now) => {
      const stored = secrets.get({ id });
      return stored ? goodClientSecrets(stored, now) : [];
    },
    secretsInForce: async (id, now) => {
      const stored = secrets.get({ id });
      return stored ? secretsInForce(stored, now) : [];
    },
    all: async () => orm.select(shown).from(applications).orderBy(applications.id).all(),
    page: async (after, limit, filter = {}) => {
      const { ids, owner_user_id } = filter;
      const isWanted = and(
        gt(applications.id, after),
        owner_user_id === undefined ? undefined : eq(applications.owner_user_id, owner_user_id),
        ids === undefined ? undefined : inArray(applications.id, [...ids]),
      );
      const ordered = () => orm.select(shown).from(applications).orderBy(applications.id).limit(limit);
      if (!isSearch(filter)) return ordered().where(isWanted).all();
      const all = orm.select(compared).from(applications).where(isWanted).orderBy(applications.id).all();
      const found = searched(all, filter, troubledEndpoints(orm), limit);
      return found.length === 0 ? [] : ordered().where(inArray(applications.id, found)).all();
    },
  };
}
