import type { BackupConfig } from "../backups/open-backups.ts";
import { everyMsOf, openBackupPlace } from "../backups/open-backups.ts";
import { type AwsVariables, placeOfOthers } from "../backups/place.ts";
import { tooSmallFor } from "../backups/room.ts";
import { shownTooSmall } from "../domain/backups.ts";
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

/** How old the newest backup is, and what the place cannot do. */
export async function* backupFindings(question: BackupQuestion): AsyncGenerator<Finding> {
  const { data, dataId, config, aws, reach, now } = question;
  const { ok, warning, wrong, skipped } = findingsOf("backups");
  if (config.backupTo?.startsWith("s3://") && !reach)
    return yield skipped(`${config.backupTo} is not asked`, "ask it with --reach");
  try {
    const { settings, place, shown } = await openBackupPlace(data, config, aws);
    const owner = await place.owner();
    if (owner !== null && owner !== dataId) throw placeOfOthers(shown);
    if (owner !== null && reach && !(await place.keepsFirst(owner)))
      yield warning(
        `${shown} can be taken by two servers at the same moment: this storage passes over If-None-Match`,
        "give each server a prefix of its own",
      );
    const tooSmall =
      config.backupEvery === null
        ? null
        : await tooSmallFor({ data, place: settings, recipients: config.backupRecipients });
    if (tooSmall)
      yield warning(
        `there is no room for the next one: ${shownTooSmall(tooSmall)}`,
        "make room, or keep fewer (--keep-backups)",
      );
    const times = (await place.list()).map(({ id }) => idTime(id));
    const everyMs = everyMsOf(config);
    const make = 'look into the log, and make one with "onair backup"';
    const age = times.length === 0 ? null : Math.max(0, now - Math.max(...times));
    const found =
      age === null ? `none in ${shown}` : `${times.length} in ${shown}, the newest ${shownDuration(age)} old`;
    if (everyMs === null) return yield ok(`${found}; none are made by themselves (--backup-every)`);
    if (age === null) return yield warning(`${found}, although --backup-every is set`, make);
    if (age > 2 * everyMs)
      return yield wrong(`${found}, which is more than two periods of --backup-every`, make);
    yield ok(found);
  } catch (error) {
    yield wrong(messageOf(error));
  }
}
