import { hasData } from "../../data/open.ts";
import { type DataPlace, shownDataPlace } from "../../data/place.ts";
import { UsageError } from "../command.ts";

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
