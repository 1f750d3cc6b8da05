import { StoreError } from "../domain/store.ts";
import { type CopiedData, type CopyCounts, type CopyTarget, moved } from "../store/copy.ts";
import type { DataStorage } from "../store/data-storage.ts";
import { namedDataLocation, shownDataLocation } from "../store/location.ts";

/** The result of a copy. */
interface Copied {
  readonly counts: CopyCounts;
  /** The ids of events copied without their bodies, because the source could not read them. */
  readonly damagedBodies: readonly string[];
}

/** Callbacks for the progress of a copy. */
interface CopyProgress {
  /** Called with the rows of each table in the source. */
  counted(counts: CopyCounts): void;
  copied(rows: number): void;
}

/**
 * Copies all data from a location that no server uses to an empty one, and marks the source as moved. The target cannot
 * be used before it is complete. A copy that fails leaves the target empty and the source unmarked. When the last step
 * fails, the source stays marked, because the target may be complete. Throws `StoreError`.
 */
export async function copyData(from: DataStorage, to: DataStorage, progress: CopyProgress): Promise<Copied> {
  const place = shownDataLocation(to.location);
  const source = await from.openToCopy();
  let isBegun = false;
  try {
    const marked = await source.mark();
    if (marked !== null && marked !== place)
      throw moved(shownDataLocation(from.location), namedDataLocation(from.location), marked);
    let isMarkKept = marked !== null;
    try {
      await source.setMark(place);
      return await source.read((data) =>
        to.copyTo(async (target) => {
          isBegun = true;
          const copied = await copyAll(data, target, progress);
          isMarkKept = true;
          return copied;
        }),
      );
    } catch (error) {
      if (!isMarkKept) await source.setMark(null).catch(() => {}); // the first error is the one to report
      throw error;
    }
  } catch (error) {
    if (!isBegun) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `${reason.replace(/\.?$/, ".")} The copy was interrupted: run the same command to begin it again.`,
    );
  } finally {
    await source.close();
  }
}

async function copyAll(data: CopiedData, target: CopyTarget, progress: CopyProgress): Promise<Copied> {
  const counts = await data.counts();
  progress.counted(counts);
  for await (const rows of data.rows()) {
    await target.add(rows);
    progress.copied(rows.rows.length);
  }
  await target.derive();
  const copied = await target.counts();
  for (const [table, count] of Object.entries(counts)) {
    if (copied[table] === count) continue;
    throw new StoreError(`The source has ${count} ${table}, but the target has ${copied[table]}`);
  }
  return { counts, damagedBodies: data.damagedBodies };
}

/** Removes the mark of data that was moved. Returns false when there is none. Throws `StoreError`. */
export async function reopenData(from: DataStorage): Promise<boolean> {
  const source = await from.openToCopy();
  try {
    const isMarked = (await source.mark()) !== null;
    await source.setMark(null);
    return isMarked;
  } finally {
    await source.close();
  }
}
