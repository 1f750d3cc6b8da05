import { eq, sql } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { SettingStore } from "../settings.ts";
import type { Commit } from "./database/commit.ts";
import { settings } from "./schema/admin.ts";

export function settingStore(orm: BunSQLiteDatabase, commit: Commit): SettingStore {
  const find = orm
    .select()
    .from(settings)
    .where(eq(settings.key, sql.placeholder("key")))
    .limit(1)
    .prepare();
  return {
    get: async (key) => find.get({ key })?.value ?? null,
    settle: (key, value) =>
      commit(() => {
        orm.insert(settings).values({ key, value }).onConflictDoNothing().run();
        return find.get({ key })?.value ?? value;
      }),
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
