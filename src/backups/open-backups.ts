import { durationMs, second } from "../domain/time.ts";
import { Backups, type BackupsOptions } from "./backups.ts";
import { backupDirectory } from "./files.ts";
import {
  type AwsVariables,
  type BackupPlace,
  openPlace,
  type PlaceSettings,
  readPlace,
  shownBackupPlace,
} from "./place.ts";

/** The settings of backups. */
export interface BackupConfig {
  readonly backupEvery: string | null;
  readonly backupTo: string | null;
  readonly backupEndpoint: string | null;
  readonly backupRegion: string | null;
  readonly backupRecipients: readonly string[];
  readonly keepBackups: number;
  readonly keepBackupsDays: number | null;
}

/** The interval of checks whether a backup is due. */
export const backupLookMs = 10 * second;

/** The destination of the backups of a data directory. */
function backupPlace(
  data: string,
  { backupTo, backupEndpoint: endpoint, backupRegion: region }: BackupConfig,
  aws: AwsVariables,
): PlaceSettings {
  if (backupTo === null) return { kind: "directory", directory: backupDirectory(data) };
  return readPlace(backupTo, { endpoint, region, aws });
}

/** Milliseconds between the backups of the schedule; null for none. */
export const everyMsOf = ({ backupEvery }: Pick<BackupConfig, "backupEvery">) =>
  backupEvery === null ? null : durationMs(backupEvery);

/** Opens the configured destination of a data directory's backups; `shown` names it without secrets. */
export async function openBackupPlace(
  data: string,
  config: BackupConfig,
  aws: AwsVariables,
): Promise<{ readonly settings: PlaceSettings; readonly place: BackupPlace; readonly shown: string }> {
  const settings = backupPlace(data, config, aws);
  return { settings, place: await openPlace(settings), shown: shownBackupPlace(settings) };
}

/** Opens the backups of a data directory by its settings. Rejects when a recipient's key is invalid. */
export async function openBackups(
  data: string,
  config: BackupConfig,
  {
    aws,
    ...options
  }: Pick<
    BackupsOptions,
    "dataId" | "program" | "now" | "monotonic" | "log" | "announce" | "isHeld" | "changed"
  > & {
    readonly aws: AwsVariables;
  },
): Promise<Backups> {
  const { backupRecipients: recipients } = config;
  if (recipients.length > 0) {
    const { encrypterFor } = await import("./encryption.ts");
    encrypterFor(recipients);
  }
  const backups = new Backups({
    data,
    place: backupPlace(data, config, aws),
    recipients,
    everyMs: everyMsOf(config),
    keep: config.keepBackups,
    keepDays: config.keepBackupsDays,
    ...options,
  });
  return backups.begun();
}
