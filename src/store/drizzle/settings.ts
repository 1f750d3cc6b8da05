import { eq, sql } from "drizzle-orm";
import type { SettingStore } from "../../domain/store.ts";
import { type Dialect, execute } from "./dialect.ts";

export function settingStore({ orm, tables: { settings }, prepared, runEach, write }: Dialect): SettingStore {
  const { value } = settings;
  const find = prepared("setting", (orm) =>
    orm
      .select({ value })
      .from(settings)
      .where(eq(settings.key, sql.placeholder("key"))),
  );
  return {
    get: async (key) => (await find(orm, { key }))[0]?.value ?? null,
    settle: (key, initial) =>
      runEach(function* (orm) {
        yield* execute(orm.insert(settings).values({ key, value: initial }).onConflictDoNothing());
        const [settled] = yield* execute(find(orm, { key }));
        return settled?.value ?? initial;
      }),
    put: (key, value) =>
      write(
        orm
          .insert(settings)
          .values({ key, value })
          .onConflictDoUpdate({ target: settings.key, set: { value } }),
      ),
  };
}
