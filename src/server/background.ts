import { storingStatistics } from "../delivery/maintenance.ts";
import { dataIdOf, heldSetting } from "../domain/store.ts";
import { minute, second } from "../domain/time.ts";
import {
  type BackupKeeper,
  backupLookMs,
  backupsElsewhere,
  openBackups,
} from "../operations/backups/open-backups.ts";
import { samplingSizes } from "../operations/storage.ts";
import { repeating, supervise } from "../runtime/services.ts";
import { backupProgram } from "../thread-programs.ts";
import type { Core } from "./core.ts";
import type { Memory } from "./memory.ts";

/*
 * The services of the main thread besides the listeners.
 */

/** Opens the backups of a data directory. Throws if their settings cannot be used. */
export async function openBackupKeeper(core: Core, { outcomes }: Memory): Promise<BackupKeeper> {
  const { config, engine, log, now, location, options } = core;
  if ("database" in location) return backupsElsewhere;
  return openBackups(location.directory, config, {
    dataId: () => dataIdOf(engine.store),
    program: backupProgram,
    now,
    monotonic: options.now && (options.monotonic ?? options.now),
    log,
    aws: options.aws ?? {},
    announce: (type, data) => void engine.notify(type, data),
    isHeld: async () => Boolean(await engine.store.settings.get(heldSetting)),
    changed: () => outcomes.changed("backups"),
  });
}

const findEveryMs = 15 * second;

/** Starts the services of the main thread. @param lookForFindings called at intervals */
export function startServices(
  { engine, log, now, location, counter }: Core,
  { outcomes }: Memory,
  backups: BackupKeeper,
  lookForFindings: () => Promise<void>,
) {
  const sizes = "directory" in location ? [samplingSizes(location.directory, engine.store, now)] : [];
  const backing = repeating("backups", backupLookMs, () => backups.look());
  const finding = repeating("findings", findEveryMs, lookForFindings);
  let minuteNow = Math.floor(now() / minute);
  const storing = storingStatistics(counter, engine.store, log, () => {
    const before = minuteNow;
    minuteNow = Math.floor(now() / minute);
    if (minuteNow !== before) outcomes.changedHere("minute");
  });
  return supervise([storing, ...sizes, backing, finding], log);
}
