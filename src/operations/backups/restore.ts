import { readdirSync, renameSync } from "node:fs";
import { basename } from "node:path";
import { StoreError } from "../../domain/store.ts";
import { isoTime } from "../../domain/time.ts";
import {
  beginCopy,
  checkDatabase,
  type DatabaseCounts,
  requireOwnSchema,
} from "../../store/sqlite/backup.ts";
import {
  type DataDirectoryLock,
  databaseFile,
  databaseIn,
  lockDirectory,
  logBytes,
  removeDatabase,
  restoringIn,
} from "../../store/sqlite/directory.ts";
import { type Content, readName, syncDirectory, writePrivately } from "./files.ts";

/** A backup to restore. */
export interface BackupSource {
  /** The name of the backup in messages. */
  readonly label: string;
  /** The file name of the backup, which may contain its hash. */
  readonly name: string;
  open(): ReadableStream<Uint8Array>;
}

interface Restoring {
  readonly source: BackupSource;
  /** Secret keys of age, for a backup that is encrypted. */
  readonly identities: readonly string[];
  /** A data directory without a database; created when missing. */
  readonly data: string;
  readonly wrote: (bytes: number) => void;
  /** Called when the copy is complete and its check begins. */
  readonly checking: () => void;
}

/**
 * A backup or a closed database in a file, which is not changed. Throws a `StoreError` for a database that was not
 * closed.
 */
export function fileSource(file: string): BackupSource {
  if (logBytes(file) > 0) {
    throw new StoreError(
      `${file} is a database that was not closed, not a backup: a part of it is in ${basename(file)}-wal. Make a backup of it with onair backup.`,
    );
  }
  return { label: file, name: basename(file), open: () => Bun.file(file).stream() };
}

/**
 * Restores a backup into a data directory that no other process uses. The copy is checked before it becomes the
 * database, and sends nothing until it is released. A restore that fails leaves no file and throws a `StoreError`.
 */
export async function restoreBackup(restoring: Restoring): Promise<Content & { counts: DatabaseCounts }> {
  const { source, data, wrote, checking } = restoring;
  // The source is opened before the lock is taken, because a process of root then continues as the directory's owner.
  const stored = await opened(source);
  let lock: DataDirectoryLock;
  try {
    lock = lockDirectory(data);
  } catch (error) {
    await stored.cancel();
    throw error;
  }
  const partial = restoringIn(data);
  let isRestored = false;
  try {
    const held = readdirSync(data).find((name) => name.startsWith(databaseFile));
    if (held !== undefined) {
      throw new StoreError(
        `${data} holds a database already (${held}). Move it away first, or name another directory with --data.`,
      );
    }
    const hasher = new Bun.CryptoHasher("sha256");
    // SQLite would apply a log or journal of an interrupted restore to this copy.
    removeDatabase(partial);
    const content = await writePrivately(partial, plainContent(restoring, stored, hasher), wrote);
    checking();
    const named = readName(source.name);
    if (named !== null && named.sha256 !== hasher.digest("hex"))
      throw new StoreError(`${source.label} is damaged or was changed: its SHA-256 is not that of its name.`);
    const counts = checkCopy(source.label, partial);
    beginCopy(partial, isoTime(Date.now()));
    renameSync(partial, databaseIn(data));
    syncDirectory(data);
    isRestored = true;
    return { ...content, counts };
  } finally {
    await stored.cancel();
    removeDatabase(partial);
    if (isRestored) lock.close();
    else lock.undo();
  }
}

const isGzip = (beginning: Uint8Array) => beginning[0] === 0x1f && beginning[1] === 0x8b;

const ageHeader = "age-encryption.org/v1\n";

/** The content of a backup, of which the first part has been read. */
interface StoredContent {
  /** Returns the next part; undefined at the end. Also rejects with an error of opening the backup. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

async function opened(source: BackupSource): Promise<StoredContent> {
  const reader = source.open().getReader();
  let first: ReturnType<typeof reader.read> | null = reader.read();
  await first.catch(() => {});
  return {
    async next() {
      const part = first ?? reader.read();
      first = null;
      return (await part).value;
    },
    cancel: () => reader.cancel().catch(() => {}),
  };
}

/** Yields the database in a backup, decrypted if necessary. Updates `hasher` with the stored content. */
async function* plainContent(
  { source, identities }: Restoring,
  stored: StoredContent,
  hasher: Bun.CryptoHasher,
): AsyncGenerator<Uint8Array> {
  const read = async () => {
    const part = await stored.next();
    if (part) hasher.update(part);
    return part;
  };
  try {
    let beginning = Buffer.alloc(0);
    for (
      let chunk = await read();
      chunk;
      chunk = beginning.length < ageHeader.length ? await read() : undefined
    )
      beginning = Buffer.concat([beginning, chunk]);
    if (isGzip(beginning))
      throw new StoreError(`${source.label} is compressed: unpack it with gunzip, and restore the result.`);
    const rest = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(beginning),
        async pull(controller) {
          const chunk = await read();
          if (chunk) controller.enqueue(chunk);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    if (!beginning.toString("latin1").startsWith(ageHeader)) return yield* rest;
    if (identities.length === 0)
      throw new StoreError("it is encrypted: name the file with its secret key with --identity");
    const { decrypted } = await import("./encryption.ts");
    yield* decrypted(rest, identities);
  } catch (error) {
    throw error instanceof StoreError ? new StoreError(`${source.label}: ${error.message}.`) : error;
  }
}

function checkCopy(label: string, copy: string): DatabaseCounts {
  try {
    const counts = checkDatabase(copy, { thorough: true });
    requireOwnSchema(copy);
    return counts;
  } catch (error) {
    throw error instanceof StoreError ? new StoreError(`${label}: ${error.message}`) : error;
  }
}
