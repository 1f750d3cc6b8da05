import { idTime } from "../domain/ids.ts";
import { day } from "../domain/time.ts";
import type { KeptBackup } from "./files.ts";

interface KeepOptions {
  readonly keep: number;
  /** null: age does not count. */
  readonly keepDays: number | null;
  readonly now: number;
  /** The id of the backup just made, which stays whatever the clock said. */
  readonly made: string;
}

/** Age removes none of these: a clock that is far ahead must not empty the place. */
const alwaysKept = 3;

/** The backups that go when a new one is complete: the oldest above the number, and those that are too old. */
export function outdated(all: readonly KeptBackup[], options: KeepOptions): KeptBackup[] {
  const { keep, keepDays, now, made } = options;
  const others = all.filter(({ id }) => id !== made).sort((a, b) => (a.id < b.id ? 1 : -1));
  const oldest = keepDays === null ? Number.NEGATIVE_INFINITY : now - keepDays * day;
  return others.filter(({ id }, at) => at >= keep - 1 || (at >= alwaysKept - 1 && idTime(id) < oldest));
}
