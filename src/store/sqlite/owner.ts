import { type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StoreError } from "../../domain/store.ts";

/** What `becomeOwner` changed: the user that this process was made to run as, and the directory of that user. */
let became: { readonly uid: number; readonly directory: string } | null = null;

/**
 * Makes a process of root run as the owner of a data directory, for good, before it opens a file there. Files that it
 * creates then belong to the server's user, and a link that this user placed there leads to nothing that the user could
 * not open anyway. Does nothing for other users, and where root is the owner. A missing directory has the owner of the
 * directory in which it will be created. Files that only root may open have to be open before. Throws a `StoreError`
 * when the system refuses.
 */
export function becomeOwner(directory: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = ownerOf(resolve(directory));
  if (uid === 0) return;
  try {
    // The groups of the user, without those of root.
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new StoreError(
      `${directory} belongs to user ${uid}, and root may not become that user here (${error instanceof Error ? error.message : error}). Run this as user ${uid}.`,
    );
  }
  became = { uid, directory };
}

/** Says as whom this process runs since `becomeOwner`; null if that changed nothing. */
export function ownerInForce(): string | null {
  if (became === null) return null;
  return `From the moment it opened ${became.directory}, this command ran as user ${became.uid}, who owns that directory, and not as root.`;
}

/** Where a path leads through a file, the owner of that file: opening it fails afterwards, with its own reason. */
function ownerOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    if (!/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return ownerOf(dirname(path));
  }
}
