import { existsSync } from "node:fs";
import { type DataLocation, shownDataLocation } from "../../store/location.ts";
import { hasData } from "../../store/open.ts";
import { databaseIn } from "../../store/sqlite/directory.ts";
import { UsageError } from "../command.ts";

/** Adds a mistake when the directory named by an option has no database. */
export function requireDatabase(directory: string, option: string, mistakes: string[]): void {
  if (!existsSync(databaseIn(directory)))
    mistakes.push(`There is no data in ${directory}; name the data directory with ${option}`);
}

/** Throws a `UsageError` when there is no data in a location, and a `StoreError` when the data cannot be used. */
export async function requireData(location: DataLocation): Promise<void> {
  if (await hasData(location)) return;
  const where = shownDataLocation(location);
  throw new UsageError(
    "directory" in location
      ? `There is no data in ${where}; name the data directory with --data, or a server with --url`
      : `There is no data in the database ${where}; "onair serve" or "onair import" creates it`,
  );
}
