import type { BackupConfig } from "../backups/backup-settings.ts";
import { everyMsOf, openBackupPlace } from "../backups/open-backups.ts";
import { type AwsVariables, placeOfOthers } from "../backups/place.ts";
import { messageOf } from "../domain/errors.ts";
import { idTime } from "../domain/ids.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { shownDuration } from "../domain/time.ts";

interface BackupQuestion {
  readonly data: string;
  /** The id of the data; null before the first start. */
  readonly dataId: string | null;
  readonly config: BackupConfig;
  readonly aws: AwsVariables;
  /** Whether storage in the network may be asked. */
  readonly reach: boolean;
  readonly now: number;
}

/** How old the newest backup is. */
export async function backupFinding(question: BackupQuestion): Promise<Finding> {
  const { data, dataId, config, aws, reach, now } = question;
  const { ok, warning, wrong, skipped } = findingsOf("backups");
  if (config.backupTo?.startsWith("s3://") && !reach)
    return skipped(`${config.backupTo} is not asked`, "ask it with --reach");
  try {
    const { place, shown } = await openBackupPlace(data, config, aws);
    const owner = await place.owner();
    if (owner !== null && owner !== dataId) throw placeOfOthers(shown);
    const times = (await place.list()).map(({ id }) => idTime(id));
    const everyMs = everyMsOf(config);
    const make = 'look into the log, and make one with "onair backup"';
    const age = times.length === 0 ? null : Math.max(0, now - Math.max(...times));
    const found =
      age === null ? `none in ${shown}` : `${times.length} in ${shown}, the newest ${shownDuration(age)} old`;
    if (everyMs === null) return ok(`${found}; none are made by themselves (--backup-every)`);
    if (age === null) return warning(`${found}, although --backup-every is set`, make);
    if (age > 2 * everyMs) return wrong(`${found}, which is more than two periods of --backup-every`, make);
    return ok(found);
  } catch (error) {
    return wrong(messageOf(error));
  }
}
