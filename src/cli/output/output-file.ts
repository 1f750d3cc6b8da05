import { renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Adds a mistake when a file must not be replaced. A device is never replaced, because it could not be restored. */
export function checkOutputFile(
  file: string,
  { force }: { readonly force: boolean },
  mistakes: string[],
): void {
  const directory = dirname(file);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    mistakes.push(`There is no directory ${directory}`);
    return;
  }
  const there = statSync(file, { throwIfNoEntry: false });
  if (!there) return;
  if (there.isDirectory()) mistakes.push(`${file} is a directory; name a file in it`);
  else if (!there.isFile())
    mistakes.push(`${file} is not a regular file; name another, or "-" for standard output`);
  else if (!force) mistakes.push(`${file} exists already; --force replaces it`);
}

/** Writes a temporary file next to `file` and renames it when it is complete, so that a partial file never appears. */
export async function replaceFile<T>(file: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${file}.partial`;
  try {
    const result = await write(partial);
    renameSync(partial, file);
    return result;
  } finally {
    rmSync(partial, { force: true });
  }
}
