import { lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Gives the files that a command of root created in a data directory to the owner of that directory. Otherwise the
 * server, which runs as that user, could not open them. Does nothing for other users. Links are left as they are,
 * because the owner of the directory could have placed them there.
 */
export function giveToOwner(directory: string): void {
  if (process.getuid?.() !== 0) return;
  const owner = statSync(directory, { throwIfNoEntry: false });
  if (!owner || owner.uid === 0) return;
  for (const path of [...pathsIn(directory, /^(onair\.|backups$)/), ...pathsIn(join(directory, "backups"))]) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.uid !== 0) continue;
    if (stats.isDirectory() || (stats.isFile() && stats.nlink === 1)) lchownSync(path, owner.uid, owner.gid);
  }
}

function pathsIn(directory: string, names = /^/): string[] {
  if (!lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(directory)
    .filter((name) => names.test(name))
    .map((name) => join(directory, name));
}
