import { eq, sql } from "drizzle-orm";
import { once } from "../../domain/lazily.ts";
import type { SettingStore } from "../settings.ts";
import type { Postgres } from "./database/pool.ts";
import { settings } from "./schema/admin.ts";

export function settingStore({ orm }: Postgres): SettingStore {
  const find = once(() =>
    orm
      .select({ value: settings.value })
      .from(settings)
      .where(eq(settings.key, sql.placeholder("key")))
      .prepare("setting"),
  );
  return {
    get: async (key) => (await find().execute({ key }))[0]?.value ?? null,
    async settle(key, value) {
      await orm.insert(settings).values({ key, value }).onConflictDoNothing();
      return (await find().execute({ key }))[0]?.value ?? value;
    },
    async put(key, value) {
      await orm
        .insert(settings)
        .values({ key, value })
        .onConflictDoUpdate({ target: settings.key, set: { value } });
    },
  };
}
