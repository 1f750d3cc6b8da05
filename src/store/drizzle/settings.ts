import { eq, sql } from "drizzle-orm";
import { once } from "../../domain/lazily.ts";
import type { SettingStore } from "../settings.ts";
import { type Dialect, execute } from "./dialect.ts";

export function settingStore({ orm, tables: { settings }, inTurn, write }: Dialect): SettingStore {
  const { value } = settings;
  const find = once(() =>
    orm
      .select({ value })
      .from(settings)
      .where(eq(settings.key, sql.placeholder("key")))
      .prepare("setting"),
  );
  return {
    get: async (key) => (await find().execute({ key }))[0]?.value ?? null,
    settle: (key, given) =>
      inTurn(function* (orm) {
        yield* execute(orm.insert(settings).values({ key, value: given }).onConflictDoNothing());
        const [settled] = yield* execute(orm.select({ value }).from(settings).where(eq(settings.key, key)));
        return settled?.value ?? given;
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
