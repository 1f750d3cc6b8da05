import { StoreError } from "../store/faults.ts";
import {
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  movedMessage,
  movedSetting,
} from "../store/operations/copy.ts";
import { namedPlace, readDatabaseUrl } from "../store/postgres/database/connection-url.ts";
import type { Store } from "../store/store.ts";
import { type DataPlace, shownDataPlace } from "./data-place.ts";

/** What a copy tells while it runs. */
interface CopyProgress {
  /** What the source has of each noun. */
  counted(counts: CopyCounts): void;
  copied(rows: number): void;
}

/**
 * Copies everything from a place that nobody serves to an empty one, as it is at one moment, and marks the source as
 * moved. The target is complete or as it was before. Throws `StoreError`.
 */
export async function copyData(from: DataPlace, to: DataPlace, progress: CopyProgress): Promise<CopyCounts> {
  return copyingFrom(from, shownDataPlace(to), (source) =>
    copyingTo(to, (target) => copyAll(source, target, progress)),
  );
}

async function copyAll(source: CopySource, target: CopyTarget, progress: CopyProgress): Promise<CopyCounts> {
  const counts = await source.counts();
  progress.counted(counts);
  for (const noun of copiedNouns) {
    for await (const rows of source.rows(noun)) {
      await target.add(noun, rows);
      progress.copied(rows.length);
    }
  }
  const copied = await target.counts();
  for (const noun of [...copiedNouns, "attempts"] as const) {
    if (copied[noun] === counts[noun]) continue;
    throw new StoreError(
      `Of ${counts[noun]} ${noun} of the source ${copied[noun]} were copied: nothing is kept of the copy, and the source is as it was.`,
    );
  }
  source.keepMark();
  return counts;
}

async function copyingFrom<T>(
  place: DataPlace,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  if ("directory" in place) {
    const { copyingFromDirectory } = await import("../store/sqlite/database/copy.ts");
    return copyingFromDirectory(place.directory, to, work);
  }
  const { copyingFromDatabase } = await import("../store/postgres/copy/source.ts");
  return copyingFromDatabase(settingsOf(place), to, work);
}

async function copyingTo<T>(place: DataPlace, work: (target: CopyTarget) => Promise<T>): Promise<T> {
  if ("directory" in place) {
    const { copyingToDirectory } = await import("../store/sqlite/database/copy.ts");
    return copyingToDirectory(place.directory, work);
  }
  const { copyingToDatabase } = await import("../store/postgres/copy/target.ts");
  return copyingToDatabase(settingsOf(place), Date.now(), work);
}

/** Undoes the mark of a place that was copied; false where there is none. Throws `StoreError`. */
export async function reopenData(place: DataPlace): Promise<boolean> {
  if ("directory" in place) {
    const { reopenDirectory } = await import("../store/sqlite/database/copy.ts");
    return reopenDirectory(place.directory);
  }
  const { reopenDatabase } = await import("../store/postgres/copy/source.ts");
  return reopenDatabase(settingsOf(place));
}

const settingsOf = ({ database }: Extract<DataPlace, { database: unknown }>) =>
  readDatabaseUrl(database.direct ?? database.url);

/** Throws a `StoreError` where the data was moved elsewhere. */
export async function requireNotMoved(store: Pick<Store, "settings">, place: DataPlace): Promise<void> {
  const to = await store.settings.get(movedSetting);
  if (to === null) return;
  const named = "directory" in place ? place.directory : namedPlace(settingsOf(place));
  throw new StoreError(movedMessage(shownDataPlace(place), named, to), true);
}
