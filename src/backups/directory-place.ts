import fs from "node:fs";
import { basename, join } from "node:path";
import { fileStream } from "../file-stream.ts";
import { keepPartial, wholeBackups } from "./files.ts";
import type { BackupPlace, CheckedFile } from "./place.ts";

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
}
