import { type BackupState, backupsOfPostgres } from "../../domain/backups.ts";
import { DomainError } from "../../domain/errors.ts";
import { durationMs, second } from "../../domain/time.ts";
import { Backups, type BackupsOptions } from "./backups.ts";
import {
  type AwsVariables,
  type BackupDestination,
  type DestinationSettings,
  readDestination,
  shownDestination,
} from "./destination.ts";
import { backupDirectory } from "./files.ts";
import { openDestination } from "./open-destination.ts";

/** The backups of a server. `state` is null when other software makes them. */
export type BackupKeeper = Pick<
  Backups,
  "check" | "begin" | "page" | "find" | "content" | "remove" | "stop"
> & { readonly state: BackupState | null };

const refuse = async (): Promise<never> => {
  throw new DomainError("conflict", backupsOfPostgres);
};

/** Replaces `Backups` when the data is in PostgreSQL. */
export const externalBackups: BackupKeeper = {
  state: null,
  async check() {},
  begin: refuse,
  page: async () => [],
  find: refuse,
  content: refuse,
  remove: refuse,
  stop() {},
};

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
export const backupCheckMs = 10 * second;

/** The destination of the backups of a data directory. */
function backupDestination(
  data: string,
  { backupTo, backupEndpoint: endpoint, backupRegion: region }: BackupConfig,
  aws: AwsVariables,
): DestinationSettings {
  if (backupTo === null) return { kind: "directory", directory: backupDirectory(data) };
  return readDestination(backupTo, { endpoint, region, aws });
}

/** Milliseconds between the backups of the schedule; null for none. */
export const everyMsOf = ({ backupEvery }: Pick<BackupConfig, "backupEvery">) =>
  backupEvery === null ? null : durationMs(backupEvery);

/** Opens the configured destination of a data directory's backups; `location` names it without secrets. */
export async function openBackupDestination(
  data: string,
  config: BackupConfig,
  aws: AwsVariables,
): Promise<{
  readonly settings: DestinationSettings;
  readonly destination: BackupDestination;
  readonly location: string;
}> {
  const settings = backupDestination(data, config, aws);
  return { settings, destination: await openDestination(settings), location: shownDestination(settings) };
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
    destination: backupDestination(data, config, aws),
    recipients,
    everyMs: everyMsOf(config),
    keep: config.keepBackups,
    keepDays: config.keepBackupsDays,
    ...options,
  });
  return backups.begun();
}
