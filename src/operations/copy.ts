import { type CopyCounts, type CopySource, type CopyTarget, copiedNouns } from "../domain/copy.ts";
import { StoreError } from "../domain/store.ts";
import { shownDataLocation } from "../store/location.ts";
import type { DataStorage } from "../store/storage.ts";

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
export async function copyData(from: DataStorage, to: DataStorage, progress: CopyProgress): Promise<Copied> {
  let isBegun = false;
  try {
    return await from.copyFrom(shownDataLocation(to.location), (source) =>
      to.copyTo((target) => {
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
