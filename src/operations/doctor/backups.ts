import { shownTooSmall } from "../../domain/backups.ts";
import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { idTime } from "../../domain/ids.ts";
import { shownDuration } from "../../domain/time.ts";
import { type AwsVariables, destinationOfOthers } from "../backups/destination.ts";
import { tooSmallFor } from "../backups/disk-space.ts";
import type { BackupConfig } from "../backups/open-backups.ts";
import { everyMsOf, openBackupDestination } from "../backups/open-backups.ts";

interface BackupQuestion {
  readonly data: string;
  /** The id of the data: null before the first start, undefined where the database cannot be read. */
  readonly dataId: string | null | undefined;
  readonly config: BackupConfig;
  readonly aws: AwsVariables;
  /** Whether to send requests to storage in the network. */
  readonly reach: boolean;
  readonly now: number;
}

/** Checks the age of the newest backup, and the backup destination. */
export async function* backupFindings(question: BackupQuestion): AsyncGenerator<Finding> {
  const { data, dataId, config, aws, reach, now } = question;
  const { ok, warning, wrong, skipped } = findingsOf("backups");
  if (config.backupTo?.startsWith("s3://") && !reach)
    return yield skipped(`${config.backupTo} was not checked`, "check it with --reach");
  try {
    const { settings, destination, shown } = await openBackupDestination(data, config, aws);
    const owner = await destination.owner();
    if (owner !== null && dataId !== undefined && owner !== dataId) throw destinationOfOthers(shown);
    if (owner !== null && reach && !(await destination.keepsFirst(owner)))
      yield warning(
        `two servers that start at the same moment could both use ${shown}: this storage ignores If-None-Match`,
        "give each server its own prefix",
      );
    const tooSmall =
      config.backupEvery === null
        ? null
        : await tooSmallFor({ data, destination: settings, recipients: config.backupRecipients });
    if (tooSmall)
      yield warning(
        `there is not enough space for the next backup: ${shownTooSmall(tooSmall)}`,
        "free some space, or keep fewer backups (--keep-backups)",
      );
    const times = (await destination.list()).map(({ id }) => idTime(id));
    const everyMs = everyMsOf(config);
    const make = 'look for the reason in the log, and make one with "onair backup"';
    const age = times.length === 0 ? null : Math.max(0, now - Math.max(...times));
    const found =
      age === null
        ? `no backup in ${shown}`
        : `${times.length} in ${shown}, the newest ${shownDuration(age)} old`;
    if (everyMs === null) return yield ok(`${found}; automatic backups are off (--backup-every)`);
    if (age === null) return yield warning(`${found}, although --backup-every is set`, make);
    if (age > 2 * everyMs) return yield wrong(`${found}: that is more than twice --backup-every`, make);
    yield ok(found);
  } catch (error) {
    yield wrong(messageOf(error));
  }
}
