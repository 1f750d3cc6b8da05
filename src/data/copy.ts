import { StoreError } from "../store/faults.ts";
import {
  type CopyCounts,
  type CopySource,
  type CopyTarget,
  copiedNouns,
  copyingSetting,
  incompleteMessage,
  movedMessage,
  movedSetting,
} from "../store/operations/copy.ts";
import { namedPlace, readDatabaseUrl } from "../store/postgres/database/connection-url.ts";
import type { Store } from "../store/store.ts";
import { type DataPlace, shownDataPlace } from "./place.ts";

/** What was copied. */
interface Copied {
  readonly counts: CopyCounts;
  /** The ids of events without their bodies, which the source could not read. */
  readonly damagedBodies: readonly string[];
}

/** What a copy tells while it runs. */
interface CopyProgress {
  /** What the source has of each noun, and `there` of it the target, where a copy goes on that was cut off. */
  counted(counts: CopyCounts, there: CopyCounts): void;
  copied(rows: number): void;
}

/**
 * Copies everything from a place that no server uses to an empty one, and marks the source as moved. A copy that was cut
 * off goes on where it was. The target cannot be used before it is complete. Throws `StoreError`.
 */
export async function copyData(from: DataPlace, to: DataPlace, progress: CopyProgress): Promise<Copied> {
  let isBegun = false;
  try {
    return await copyingFrom(from, shownDataPlace(to), (source) =>
      copyingTo(to, source.copyId, (target) => {
        isBegun = true;
        return copyAll(source, target, progress);
      }),
    );
  } catch (error) {
    if (!isBegun) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `${reason.replace(/\.?$/, ".")} The copy was cut off: the same command goes on. Or let servers use the source again: onair copy --reopen --from ${namedDataPlace(from)}`,
    );
  }
}

async function copyAll(source: CopySource, target: CopyTarget, progress: CopyProgress): Promise<Copied> {
  source.keepMark();
  const [counts, there] = [await source.counts(), await target.counts()];
  progress.counted(counts, there);
  for (const noun of copiedNouns) {
    for await (const rows of source.rows(noun, there[noun])) {
      await target.add(noun, rows);
      progress.copied(rows.length);
    }
  }
  await target.derive();
  const copied = await target.counts();
  for (const noun of [...copiedNouns, "attempts"] as const) {
    if (copied[noun] === counts[noun]) continue;
    throw new StoreError(`Of ${counts[noun]} ${noun} of the source the target has ${copied[noun]}`);
  }
  return { counts, damagedBodies: source.damagedBodies };
}

async function copyingFrom<T>(
  place: DataPlace,
  to: string,
  work: (source: CopySource) => Promise<T>,
): Promise<T> {
  if ("directory" in place) {
    const { copyingFromDirectory } = await import("../store/sqlite/copy/source.ts");
    return copyingFromDirectory(place.directory, to, work);
  }
  const { copyingFromDatabase } = await import("../store/postgres/copy/source.ts");
  return copyingFromDatabase(settingsOf(place), to, work);
}

async function copyingTo<T>(
  place: DataPlace,
  copyId: string,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  if ("directory" in place) {
    const { copyingToDirectory } = await import("../store/sqlite/copy/target.ts");
    return copyingToDirectory(place.directory, copyId, work);
  }
  const { copyingToDatabase } = await import("../store/postgres/copy/target.ts");
  return copyingToDatabase(settingsOf(place), copyId, work);
}

/** Undoes the mark of a place that was copied; false where there is none. Throws `StoreError`. */
export async function reopenData(place: DataPlace): Promise<boolean> {
  if ("directory" in place) {
    const { reopenDirectory } = await import("../store/sqlite/copy/source.ts");
    return reopenDirectory(place.directory);
  }
  const { reopenDatabase } = await import("../store/postgres/copy/source.ts");
  return reopenDatabase(settingsOf(place));
}

const settingsOf = ({ database }: Extract<DataPlace, { database: unknown }>) =>
  readDatabaseUrl(database.direct ?? database.url);

const namedDataPlace = (place: DataPlace) =>
  "directory" in place ? place.directory : namedPlace(settingsOf(place));

/** Throws a `StoreError` where the data was moved elsewhere, or is a part of what is copied here. */
export async function requireNotMoved(store: Pick<Store, "settings">, place: DataPlace): Promise<void> {
  const shown = shownDataPlace(place);
  if ((await store.settings.get(copyingSetting)) !== null)
    throw new StoreError(incompleteMessage(shown), true);
  const to = await store.settings.get(movedSetting);
  if (to !== null) throw new StoreError(movedMessage(shown, namedDataPlace(place), to), true);
}
