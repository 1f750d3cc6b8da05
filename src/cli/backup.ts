import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Static } from "@sinclair/typebox";
import type { BackupSchema } from "../api/admin/backups.ts";
import { OnairError } from "../client/http.ts";
import { idTime } from "../domain/ids.ts";
import { isoTime } from "../domain/time.ts";
import {
  awsVariables,
  type BackupDestination,
  type DestinationSettings,
  readDestination,
  shownDestination,
} from "../operations/backups/destination.ts";
import { type Content, type KeptBackup, syncDirectory, writePrivately } from "../operations/backups/files.ts";
import { openDestination } from "../operations/backups/open-destination.ts";
import type { BackupSource } from "../operations/backups/restore.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { baseUrl } from "../server/settings/setting-values.ts";
import { command, type OptionValues, type Reading, switches, valued } from "./arguments.ts";
import { type AdminApi, withAdminApi } from "./calls/admin-api.ts";
import { poll } from "./calls/http.ts";
import { readTarget, targetHelp, targetOptions } from "./calls/target.ts";
import { UsageError } from "./command.ts";
import { checkOutputFile, replaceFile } from "./files.ts";
import { type ListPage, type Output, pagesOf } from "./output/output.ts";
import {
  counted,
  megabytes,
  note,
  type Progress,
  print,
  showProgress,
  stopwatch,
  write,
} from "./output/print.ts";

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

const help = `Usage: onair backup [file] [options]
       onair backup list [--from SOURCE]
       onair backup key

Makes a backup of the whole database and waits until it is complete, after one in progress, such as
that of the schedule; a running server continues to work. The backup goes to the destination set by
--backup-to of "onair serve" (ONAIR_BACKUP_TO; default: backups/ in the data directory), where the
newest are kept (--keep-backups, ONAIR_KEEP_BACKUPS). With a file, it is also copied there, and its
SHA-256 is checked; "-" is standard output.

  list           lists the backups that are kept, newest first
  key            makes a key pair: a public key for --backup-recipients, and a secret key for
                 "onair restore --identity"

A backup holds all data, including signing secrets. "onair restore" makes a data directory from it.

${targetHelp}
${sourceHelp("list")}
  --force        replace an existing file
  --json         print the backup as JSON

The file appears only when it is complete. Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const options = { ...targetOptions, ...sourceOptions, ...switches("force", "json") };
type Values = OptionValues<typeof options>;

const path = "/admin/v1/backups";

/** A backup in the admin API's form. */
type Backup = Static<typeof BackupSchema>;

export const backup = command({
  summary: "make a backup of the whole database, or list them",
  help,
  options,
  most: 1,
  candidates: ["list", "key"],
  async run({ words: [file = null], values, env, out, mistakes, check }) {
    const { force = false } = values;
    if (file === "key") {
      for (const name of Object.keys(values)) mistakes.push(`--${name} is not for key`);
      check();
      const { newKeyFile } = await import("../operations/backups/encryption.ts");
      return write(await newKeyFile());
    }
    const from = readNamedSource(values, env, mistakes);
    if (file === "list") return list(values, from, { env, out, mistakes });
    if (from) mistakes.push("--from is for list");
    const target = readTarget(values, env, mistakes);
    mistakes.push(...misuse(file, force, out.json));
    check();
    const took = stopwatch();
    await withAdminApi(target, async (api) => {
      const made = await makeBackup(api);
      if (file !== null) await download(api, made, file);
      if (file === "-") return;
      const record = { ...made, ...(file !== null && { file }) };
      await out.record(record, { ...record, size_bytes: counted(made.size_bytes) });
      if (!out.json) await print(`Completed ${took()}.`);
    });
  },
});

/** Prints the backups at `from`; when `from` is null, those of a server or data directory. */
async function list(
  values: Values,
  from: DestinationSettings | null,
  { env, out, mistakes }: Reading,
): Promise<void> {
  const { force, url, data, database } = values;
  if (force) mistakes.push("--force is for a file");
  if (from && (url ?? data ?? database) !== undefined)
    mistakes.push("--from and --url, --data or --database exclude each other");
  const target = from ? null : readTarget(values, env, mistakes);
  if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
  if (from) await printBackups(keptPage(from), out);
  if (target)
    await withAdminApi(target, (api) => {
      const pages = pagesOf<Backup>({ limit: Number.POSITIVE_INFINITY, cursor: "" }, (page) =>
        api.get(path, page),
      );
      return printBackups(pages, out);
    });
}

function misuse(file: string | null, force: boolean, json: boolean): string[] {
  const isFile = file !== null && file !== "-";
  const mistakes: string[] = [];
  if (force && !isFile) mistakes.push("--force is for a file");
  if (json && file === "-") mistakes.push("--json excludes the backup on standard output");
  if (isFile) checkOutputFile(file, { force }, mistakes);
  return mistakes;
}

/** Makes a backup and waits until it is complete. Throws when it fails. */
async function makeBackup(api: AdminApi): Promise<Backup> {
  const ended = await endOf(api, await startBackup(api));
  if (ended.status === "done") return ended;
  throw new Error(`The backup failed. ${ended.error}`);
}

/** Starts a backup. Waits first for a backup in progress, because that one lacks what was stored since it began. */
async function startBackup(api: AdminApi): Promise<Backup> {
  for (;;)
    try {
      return await api.json<Backup>({ method: "POST", path });
    } catch (error) {
      if (!(error instanceof OnairError) || error.status !== 409) throw error;
      const { data } = await api.get<{ data: readonly Backup[] }>(path, { limit: 100 });
      const running = data.find(({ status }) => status === "running");
      if (!running) throw error;
      note(`Waiting for backup ${running.id}, which is in progress.`);
      await endOf(api, running);
    }
}

/** Shows the progress of a backup until it ends. */
async function endOf(api: AdminApi, backup: Backup): Promise<Backup> {
  let current = backup;
  const progress = { bytes: 0, totalBytes: null as number | null, rows: null };
  const display = showProgress(progress);
  await poll(
    () => current.status === "running",
    async () => {
      current = await api.get<Backup>(`${path}/${current.id}`);
      progress.bytes = current.size_bytes;
      progress.totalBytes = current.progress > 0 ? Math.round(current.size_bytes / current.progress) : null;
    },
  ).finally(() => display.end());
  return current;
}

/** Downloads a backup into a file or to standard output. Throws when the content does not match its hash. */
async function download(api: AdminApi, { id, sha256, size_bytes }: Backup, file: string): Promise<void> {
  const { body } = await api.send({ method: "GET", path: `${path}/${id}/content` });
  const progress: Progress = { bytes: 0, totalBytes: size_bytes, rows: null };
  const display = showProgress(progress);
  const check = (content: Pick<Content, "sha256">) => {
    if (content.sha256 !== sha256)
      throw new Error(`The download is damaged: its SHA-256 is not ${sha256}. Try again`);
  };
  try {
    const chunks = arriving(body, progress);
    if (file === "-") return check(await toOutput(chunks));
    await replaceFile(file, async (partial) => check(await writePrivately(partial, chunks, () => {})));
    syncDirectory(dirname(file));
  } finally {
    display.end();
  }
}

async function* arriving(
  body: ReadableStream<Uint8Array> | null,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  for (;;) {
    const part = await reader?.read().catch(() => {
      throw new Error(`The connection broke off after ${megabytes(progress.bytes)} MB`);
    });
    if (!part || part.done) return;
    progress.bytes += part.value.length;
    yield part.value;
  }
}

async function toOutput(chunks: AsyncIterable<Uint8Array>): Promise<Pick<Content, "sha256">> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of chunks) {
    hasher.update(chunk);
    await write(chunk);
  }
  return { sha256: hasher.digest("hex") };
}

/** Reads the location of backups; null when no location is given. Adds problems to `mistakes`. */
export function readNamedSource(
  values: OptionValues<typeof sourceOptions>,
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
async function* keptPage(settings: DestinationSettings): AsyncGenerator<ListPage<ListedBackup>> {
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
async function printBackups(pages: AsyncIterable<ListPage<ListedBackup>>, out: Output): Promise<void> {
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
