import { idTime } from "../domain/ids.ts";
import { day } from "../domain/time.ts";
import type { KeptBackup } from "./files.ts";

interface KeepOptions {
  readonly keep: number;
  /** null for no limit of age. */
  readonly keepDays: number | null;
  readonly now: number;
  /** The id of the backup just made. It stays even if the clock was wrong. */
  readonly made: string;
}

/** The newest backups stay whatever their age: a clock that is far ahead must not remove all of them. */
const alwaysKept = 3;

/**
 * Returns the backups to remove when a new one is complete: the oldest beyond `keep`, and those older than `keepDays`.
 */
export function outdated(all: readonly KeptBackup[], options: KeepOptions): KeptBackup[] {
  const { keep, keepDays, now, made } = options;
  const others = all.filter(({ id }) => id !== made).sort((a, b) => (a.id < b.id ? 1 : -1));
  const oldest = keepDays === null ? Number.NEGATIVE_INFINITY : now - keepDays * day;
  return others.filter(({ id }, at) => at >= keep - 1 || (at >= alwaysKept - 1 && idTime(id) < oldest));
}
