import { existsSync } from "node:fs";
import { idTime } from "../domain/ids.ts";
import { isoTime } from "../domain/time.ts";
import {
  awsVariables,
  type BackupDestination,
  type DestinationSettings,
  readDestination,
  shownDestination,
} from "../operations/backups/destination.ts";
import type { KeptBackup } from "../operations/backups/files.ts";
import { openDestination } from "../operations/backups/open-destination.ts";
import type { BackupSource } from "../operations/backups/restore.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { baseUrl } from "../server/settings/setting-values.ts";
import { type Given, valued } from "./arguments.ts";
import { UsageError } from "./command.ts";
import type { ListPage, Output } from "./output/output.ts";
import { counted } from "./output/print.ts";

export const sourceOptions = valued("from", "backup-endpoint", "backup-region");

/**
 * Returns the help of the options that name a location of backups.
 * @param of the action that takes the options; "" for all actions
 */
export const sourceHelp = (
  of: string,
) => `  --from SOURCE  ${of === "" ? "" : `for ${of}: `}a directory with backups, or s3://bucket/prefix with credentials
                 in the variables of AWS, as for "onair serve --backup-to"
  --backup-endpoint URL, --backup-region NAME
                 for S3-compatible storage (ONAIR_BACKUP_ENDPOINT, ONAIR_BACKUP_REGION)`;

/** Reads the location of backups; null when no location is given. Adds problems to `mistakes`. */
export function readNamedSource(
  values: Given<typeof sourceOptions>,
  env: Environment,
  mistakes: string[],
): DestinationSettings | null {
  const { from } = values;
  const endpoint = values["backup-endpoint"] ?? env["ONAIR_BACKUP_ENDPOINT"] ?? null;
  const region = values["backup-region"] ?? env["ONAIR_BACKUP_REGION"] ?? null;
  if (from === undefined) {
    if (values["backup-endpoint"] ?? values["backup-region"])
      mistakes.push("--backup-endpoint and --backup-region need --from");
    return null;
  }
  try {
    const aws = awsVariables(env);
    return readDestination(from, { endpoint: endpoint === null ? null : baseUrl(endpoint), region, aws });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const named = error.message.includes("s3://") ? "--from" : "--backup-endpoint";
    mistakes.push(`${named} ${error.message}`);
    return null;
  }
}

/** Opens a location and lists its backups, newest first. Throws when there is no such directory. */
async function openKept(
  settings: DestinationSettings,
): Promise<{ destination: BackupDestination; all: KeptBackup[] }> {
  // A server creates a missing directory. In a command, a missing directory is mistyped or not mounted.
  if (settings.kind === "directory" && !existsSync(settings.directory))
    throw new Error(`There is no directory ${settings.directory}`);
  const destination = await openDestination(settings);
  return { destination, all: (await destination.list()).sort((a, b) => (a.id < b.id ? 1 : -1)) };
}

/** Finds a backup by its id, or the newest backup. Throws when there is no such backup. */
export async function keptSource(
  settings: DestinationSettings,
  id: string | undefined,
): Promise<{ source: BackupSource; size: number }> {
  const { destination, all } = await openKept(settings);
  const found = id === undefined || id === "latest" ? all[0] : all.find((one) => one.id === id);
  const location = shownDestination(settings);
  if (!found && all.length === 0) throw new Error(`There is no backup in ${location}`);
  if (!found)
    throw new UsageError(
      `There is no backup ${id} in ${location}; onair backup list --from ${location} lists all`,
    );
  const { name, size } = found;
  const open = () => destination.read(name, { start: 0, end: size });
  return { source: { label: `${location.replace(/\/$/, "")}/${name}`, name, open }, size };
}

/** A backup in a list. */
interface ListedBackup {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
  readonly size_bytes: number;
  readonly is_encrypted: boolean;
  readonly error: string | null;
}

/** Lists the backups at a location in the form of the admin API. */
export async function* keptPage(settings: DestinationSettings): AsyncGenerator<ListPage<ListedBackup>> {
  const { all } = await openKept(settings);
  const data = all.map(({ id, size, sha256, isEncrypted }) => ({
    id,
    status: "done",
    created_at: isoTime(idTime(id)),
    size_bytes: size,
    sha256,
    is_encrypted: isEncrypted,
    error: null,
  }));
  yield { data, pagination: { cursor: "", has_more: false } };
}

/** Prints backups. */
export async function printBackups(pages: AsyncIterable<ListPage<ListedBackup>>, out: Output): Promise<void> {
  await out.list(pages, {
    columns: ["ID", "STATUS", "CREATED", "BYTES", "ENCRYPTED", "ERROR"],
    cells: ({ id, status, created_at, size_bytes, is_encrypted, error }) => [
      id,
      status,
      created_at,
      counted(size_bytes),
      is_encrypted ? "yes" : "no",
      error ?? "",
    ],
    empty: "There are no backups.",
  });
}
