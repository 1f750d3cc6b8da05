import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Store } from "../store.ts";
import type { Commit } from "./commit.ts";
import { applications, settings } from "./schema.ts";

const { client_secret_hash, ...shown } = {
  id: applications.id,
  name: applications.name,
  client_type: applications.client_type,
  client_secret_hash: applications.client_secret_hash,
  webhook_url: applications.webhook_url,
  webhook_secret: applications.webhook_secret,
  scopes: applications.scopes,
  redirect_uris: applications.redirect_uris,
  rate_limit: applications.rate_limit,
  subscription_limit: applications.subscription_limit,
  created_at: applications.created_at,
  updated_at: applications.updated_at,
};

export function applicationStore(orm: BunSQLiteDatabase, commit: Commit): Store["applications"] {
  const isIt = eq(applications.id, sql.placeholder("id"));
  const find = orm.select(shown).from(applications).where(isIt).limit(1).prepare();
  const secret = orm.select({ client_secret_hash }).from(applications).where(isIt).limit(1).prepare();
  return {
    create: (application) =>
      commit(() => {
        const row = { ...application, client_secret_hash: Buffer.from(application.client_secret_hash ?? []) };
        orm.insert(applications).values(row).run();
      }),
    update: (id, changes, now) =>
      commit(() => {
        orm
          .update(applications)
          .set({ ...changes, updated_at: now })
          .where(eq(applications.id, id))
          .run();
      }),
    find: async (id) => find.get({ id }) ?? null,
    clientSecretHash: async (id) => {
      const hash = secret.get({ id })?.client_secret_hash;
      return hash && hash.byteLength > 0 ? hash : null;
    },
    all: async () => orm.select(shown).from(applications).orderBy(applications.id).all(),
  };
}

export function settingStore(orm: BunSQLiteDatabase, commit: Commit): Store["settings"] {
  return {
    get: async (key) =>
      orm.select().from(settings).where(eq(settings.key, key)).limit(1).get()?.value ?? null,
    put: (key, value) =>
      commit(() => {
        orm
          .insert(settings)
          .values({ key, value })
          .onConflictDoUpdate({ target: settings.key, set: { value } })
          .run();
      }),
  };
}
