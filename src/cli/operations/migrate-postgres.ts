import type { DatabaseSettings } from "../../engine/data-place.ts";
import { shownDataPlace } from "../../engine/data-place.ts";
import { readDatabaseUrl } from "../../store/postgres/database/connection-url.ts";
import { openPostgres, schemaOf } from "../../store/postgres/database/open.ts";
import { version } from "../../version.ts";
import { stopwatch } from "../output/format.ts";
import { print, table } from "../output/print.ts";

/** Brings a database of PostgreSQL to the form of this version, or tells what that would do. Throws a `StoreError`. */
export async function migratePostgres(
  database: DatabaseSettings,
  { dryRun, json }: { readonly dryRun: boolean; readonly json: boolean },
): Promise<void> {
  const settings = readDatabaseUrl(database.direct ?? database.url);
  const took = stopwatch();
  const { applied, pending } = await schemaOf(settings);
  if (!dryRun && pending.length > 0) {
    const applying = (name: string) => process.stderr.write(`Applying ${name} …\n`);
    await (await openPostgres(settings, { connections: 1 }, applying)).close();
  }
  const place = shownDataPlace({ database });
  const to = pending.at(-1) ?? applied.at(-1) ?? null;
  const migrations = [
    ...applied.map((name) => ({ name, state: "applied" })),
    ...pending.map((name) => ({ name, state: dryRun ? "pending" : "migrated" })),
  ];
  if (json) {
    const from = applied.at(-1) ?? null;
    return print(JSON.stringify({ database: place, version, dry_run: dryRun, from, to, migrations }));
  }
  const head =
    pending.length === 0
      ? `${place} has the form of onair ${version} (${to}).`
      : dryRun
        ? `${place} is to be brought to ${to} for onair ${version}. Nothing was changed.`
        : `${place} has the form of onair ${version} now (${to}), ${took()}.`;
  const rows = migrations.map(({ state, name }) => [state, name]);
  await print([head, "", table(["STATE", "MIGRATION"], rows)].join("\n"));
}
