import { eq, gt, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import {
  type Application,
  type ApplicationChanges,
  type HashedSecret,
  type RetiredSecret,
  type Rotation,
  receives,
  retire,
  type SecretInForce,
  secretPrefix,
  usesOnlyStream,
} from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import { isoTime } from "../../domain/time.ts";
import type { ApplicationStore } from "../applications.ts";
import type { Commit } from "./database/commit.ts";
import { deliveryCanceler } from "./deliveries/cancel.ts";
import type { DeliveryModes } from "./deliveries/modes.ts";
import { endpointRenewer } from "./endpoints.ts";
import { applications } from "./schema/access.ts";

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

export function applicationStore(
  orm: BunSQLiteDatabase,
  commitNow: Commit,
  deliveryModes: DeliveryModes,
): ApplicationStore {
  const commit = deliveryModes.forgottenBy(commitNow);
  const cancel = deliveryCanceler(orm);
  const renewEndpoint = endpointRenewer(orm);
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

  const rotateClientSecret = (id: string, secret: HashedSecret, rotation: Rotation): Application | null => {
    const now = secrets.get({ id });
    if (!now) return null;
    if (now.client_type === "public")
      throw new DomainError("conflict", "A public client has no client secret");
    const { client_secret_prefix: prefix, client_secret_created_at: created_at } = now;
    const earlier = { secret: now.client_secret_hash.toString("base64"), prefix, created_at };
    const set = {
      client_secret_hash: Buffer.from(secret.hash),
      client_secret_prefix: secret.prefix,
      client_secret_created_at: rotation.now,
      retired_client_secrets: retire(earlier, now.retired_client_secrets, rotation),
    };
    return change(id, set, rotation.now);
  };

  const rotateWebhookSecret = (id: string, secret: string, rotation: Rotation): Application | null => {
    const now = secrets.get({ id });
    if (!now) return null;
    const earlier = { secret: now.webhook_secret, created_at: now.webhook_secret_created_at };
    const set = {
      webhook_secret: secret,
      webhook_secret_created_at: rotation.now,
      retired_webhook_secrets: retire(earlier, now.retired_webhook_secrets, rotation),
    };
    return change(id, set, rotation.now);
  };

  const secretsInForce = (id: string, now: number): SecretInForce[] => {
    const found = secrets.get({ id });
    if (!found) return [];
    const retired = (kind: SecretInForce["kind"], earlier: readonly RetiredSecret[]) =>
      inForce(earlier, now)
        .map(({ secret, prefix = null, created_at = null, expires_at }) => {
          const shown = kind === "webhook_secret" ? secretPrefix(secret) : prefix;
          return { kind, prefix: shown, created_at, expires_at };
        })
        .reverse();
    const clientSecret = {
      kind: "client_secret",
      prefix: found.client_secret_prefix,
      created_at: found.client_secret_created_at,
      expires_at: null,
    } as const;
    const webhookSecret = {
      kind: "webhook_secret",
      prefix: secretPrefix(found.webhook_secret),
      created_at: found.webhook_secret_created_at,
      expires_at: null,
    } as const;
    return [
      ...(found.client_type === "public" ? [] : [clientSecret]),
      ...retired("client_secret", found.retired_client_secrets),
      webhookSecret,
      ...retired("webhook_secret", found.retired_webhook_secrets),
    ];
  };

  const update = (id: string, changes: ApplicationChanges, now: number): Application | null => {
    const before = find.get({ id });
    const changed = change(id, changes, now);
    if (!before || !changed) return null;
    if (!receives(changed)) cancel.ofApplication(id, now);
    else if (usesOnlyStream(changed)) cancel.leftToStream(id, now);
    // Another URL is another endpoint, of which nothing is known, and the stream cannot fail.
    const isAnother = changed.webhook_url !== before.webhook_url || changes.delivery === "stream";
    const generation = isAnother ? renewEndpoint(id, now) : null;
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
        cancel.ofApplication(id, now);
        return (
          orm.delete(applications).where(eq(applications.id, id)).returning({ id: applications.id }).all()
            .length > 0
        );
      }),
    rotateClientSecret: (id, secret, rotation) => commit(() => rotateClientSecret(id, secret, rotation)),
    rotateWebhookSecret: (id, secret, rotation) => commit(() => rotateWebhookSecret(id, secret, rotation)),
    find: async (id) => find.get({ id }) ?? null,
    clientSecretHashes: async (id, now) => {
      const found = secrets.get({ id });
      if (!found || found.disabled || found.client_type === "public") return [];
      return [found.client_secret_hash, ...goodHashes(found.retired_client_secrets, now)];
    },
    secretsInForce: async (id, now) => secretsInForce(id, now),
    all: async () => orm.select(shown).from(applications).orderBy(applications.id).all(),
    page: async (after, limit) =>
      orm
        .select(shown)
        .from(applications)
        .where(gt(applications.id, after))
        .orderBy(applications.id)
        .limit(limit)
        .all(),
  };
}

function inForce(retired: readonly RetiredSecret[], now: number): RetiredSecret[] {
  return retired.filter(({ expires_at }) => expires_at > now);
}

function goodHashes(retired: readonly RetiredSecret[], now: number): Buffer[] {
  return inForce(retired, now).map(({ secret }) => Buffer.from(secret, "base64"));
}
