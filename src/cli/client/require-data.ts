import { existsSync } from "node:fs";
import { hasData } from "../../data/open.ts";
import { type DataPlace, shownDataPlace } from "../../data/place.ts";
import { databaseIn } from "../../store/sqlite/database/directory.ts";
import { UsageError } from "../command.ts";

/** Adds a mistake where a directory, which the option names, has no database. */
export function requireDatabase(directory: string, option: string, mistakes: string[]): void {
  if (!existsSync(databaseIn(directory)))
    mistakes.push(`There is no data in ${directory}; name its directory with ${option}`);
}

/** Throws a `UsageError` where there is no data in a place yet, a `StoreError` where it cannot be used. */
export async function requireData(place: DataPlace): Promise<void> {
  if (await hasData(place)) return;
  const where = shownDataPlace(place);
  throw new UsageError(
    "directory" in place
      ? `There is no data in ${where}; name its directory with --data, or a server with --url`
      : `There is no data in the database ${where}; "onair serve" or "onair import" makes it`,
  );
}
