import {
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  copyingSetting,
  incompleteMessage,
  movedMessage,
  movedSetting,
} from "../domain/copy.ts";
import { type Store, StoreError } from "../domain/store.ts";
import { type DataLocation, namedLocation, readDatabaseUrl, shownDataLocation } from "../store/location.ts";

/** The result of a copy. */
interface Copied {
  readonly counts: CopyCounts;
  /** The ids of events copied without their bodies, because the source could not read them. */
  readonly damagedBodies: readonly string[];
}

/** Callbacks for the progress of a copy. */
interface CopyProgress {
  /** Called with the rows of each noun in the source. */
  counted(counts: CopyCounts): void;
  copied(rows: number): void;
}

/**
 * Copies all data from a location that no server uses to an empty one, and marks the source as moved. The target cannot
 * be used before it is complete. A copy that fails leaves the target empty and the source unmarked. When the last step
 * fails, the source stays marked, because the target may be complete. Throws `StoreError`.
 */
export async function copyData(
  from: DataLocation,
  to: DataLocation,
  progress: CopyProgress,
): Promise<Copied> {
  let isBegun = false;
  try {
    return await copyingFrom(from, shownDataLocation(to), (source) =>
      copyingTo(to, (target) => {
        isBegun = true;
        return copyAll(source, target, progress);
      }),
    );
  } catch (error) {
    if (!isBegun) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `${reason.replace(/\.?$/, ".")} The copy was interrupted: run the same command to begin it again.`,
    );
  }
}

async function copyAll(source: CopySource, target: CopyTarget, progress: CopyProgress): Promise<Copied> {
  const counts = await source.counts();
  progress.counted(counts);
  for (const noun of copiedNouns) {
    for await (const rows of source.rows(noun)) {
      await target.add(noun, rows);
      progress.copied(rows.length);
    }
  }
  await target.derive();
  const copied = await target.counts();
  for (const noun of [...copiedNouns, "attempts"] as const) {
    if (copied[noun] === counts[noun]) continue;
    throw new StoreError(`The source has ${counts[noun]} ${noun}, but the target has ${copied[noun]}`);
  }
  source.keepMark();
  return { counts, damagedBodies: source.damagedBodies };
}

async function copyingFrom<T>(
  location: DataLocation,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  if ("directory" in location) {
    const { copyingFromDirectory } = await import("../store/sqlite/copy.ts");
    return copyingFromDirectory(location.directory, to, work);
  }
  const { copyingFromDatabase } = await import("../postgres/copy.ts");
  return copyingFromDatabase(settingsOf(location), to, work);
}

async function copyingTo<T>(location: DataLocation, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  if ("directory" in location) {
    const { copyingToDirectory } = await import("../store/sqlite/copy.ts");
    return copyingToDirectory(location.directory, work);
  }
  const { copyingToDatabase } = await import("../postgres/copy.ts");
  return copyingToDatabase(settingsOf(location), work);
}

/** Removes the mark of data that was moved; returns false when there is none. Throws `StoreError`. */
export async function reopenData(location: DataLocation): Promise<boolean> {
  if ("directory" in location) {
    const { reopenDirectory } = await import("../store/sqlite/copy.ts");
    return reopenDirectory(location.directory);
  }
  const { reopenDatabase } = await import("../postgres/copy.ts");
  return reopenDatabase(settingsOf(location));
}

const settingsOf = ({ database }: Extract<DataLocation, { database: unknown }>) =>
  readDatabaseUrl(database.direct ?? database.url);

const namedDataLocation = (location: DataLocation) =>
  "directory" in location ? location.directory : namedLocation(settingsOf(location));

/** Throws a `StoreError` when the data was moved elsewhere, or a copy to here is incomplete. */
export async function requireNotMoved(store: Pick<Store, "settings">, location: DataLocation): Promise<void> {
  const shown = shownDataLocation(location);
  if ((await store.settings.get(copyingSetting)) !== null)
    throw new StoreError(incompleteMessage(shown), true);
  const to = await store.settings.get(movedSetting);
  if (to !== null) throw new StoreError(movedMessage(shown, namedDataLocation(location), to), true);
}
