import fs from "node:fs";
import { basename, join } from "node:path";
import { fileStream } from "../file-stream.ts";
import { isMissing, keepPartial, wholeBackups } from "./files.ts";
import { type BackupPlace, type CheckedFile, ownerFile, ownerIn } from "./place.ts";

/** Backups in a directory, in which they are also made. */
export class DirectoryPlace implements BackupPlace {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  list() {
    return wholeBackups(this.#directory);
  }

  /** The file is in this directory, synced and checked. */
  async keep({ path }: CheckedFile, name: string): Promise<void> {
    keepPartial(this.#directory, basename(path), name);
  }

  read(name: string, range: { readonly start: number; readonly end: number }) {
    return fileStream(join(this.#directory, name), range);
  }

  async remove(name: string): Promise<void> {
    await fs.promises.rm(join(this.#directory, name), { force: true });
  }

  async owner(): Promise<string | null> {
    return ownerIn(await textOf(join(this.#directory, ownerFile)));
  }

  async claim(id: string): Promise<string> {
    const known = await this.owner();
    if (known !== null) return known;
    const file = join(this.#directory, ownerFile);
    await fs.promises.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    // An empty file is what a full disk leaves; else another server was first.
    const isThere = await fs.promises.stat(file).catch(() => null);
    await fs.promises
      .writeFile(file, `${id}\n`, { flag: isThere ? "w" : "wx", mode: 0o600 })
      .catch((error) => {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      });
    return (await this.owner()) ?? id;
  }
}

/** "" where there is no such file. */
async function textOf(file: string): Promise<string> {
  try {
    return await fs.promises.readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}
