import fs from "node:fs";
import { basename, join } from "node:path";
import { fileStream } from "../runtime/file-stream.ts";
import { type BackupDestination, type CheckedFile, ownerFile, ownerIn } from "./destination.ts";
import { explainedUse } from "./directory-use.ts";
import { isMissing, keepPartial, wholeBackups } from "./files.ts";

/** A directory as the destination of backups. */
export class DirectoryDestination implements BackupDestination {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async list() {
    return this.#allowed(async () => wholeBackups(this.#directory));
  }

  /** The file must already be in this directory, synced and verified. */
  async keep({ path }: CheckedFile, name: string): Promise<void> {
    await this.#allowed(async () => keepPartial(this.#directory, basename(path), name));
  }

  read(name: string, range: { readonly start: number; readonly end: number }) {
    return fileStream(join(this.#directory, name), range);
  }

  async remove(name: string): Promise<void> {
    await this.#allowed(() => fs.promises.rm(join(this.#directory, name), { force: true }));
  }

  owner(): Promise<string | null> {
    return this.#allowed(async () => ownerIn(await textOf(join(this.#directory, ownerFile))));
  }

  claim(id: string): Promise<string> {
    return this.#allowed(() => this.#claim(id));
  }

  async #claim(id: string): Promise<string> {
    const file = join(this.#directory, ownerFile);
    // The name contains the id, so that the next claim for the same data removes the file of an interrupted one.
    const written = `${file}.${id}`;
    const remove = () => fs.promises.rm(written, { force: true });
    const known = await this.owner();
    await remove();
    if (known !== null) return known;
    await fs.promises.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      await fs.promises.writeFile(written, `${id}\n`, { flag: "wx", mode: 0o600, flush: true });
      await giveName(written, file);
    } finally {
      await remove();
    }
    return (await this.owner()) ?? id;
  }

  keepsFirst = async () => true;

  /** Rejects with `unavailable` and advice when this process may not use the directory. */
  async #allowed<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainedUse(error, this.#directory);
    }
  }
}

/** Gives a written file its final name, unless that name exists. */
async function giveName(written: string, name: string): Promise<void> {
  const { link, copyFile, stat, rename } = fs.promises;
  try {
    // Some file systems have no hard links.
    await link(written, name).catch((error) => {
      if (codeOf(error) === "EEXIST") throw error;
      return copyFile(written, name, fs.constants.COPYFILE_EXCL);
    });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    // An empty file was left behind by a full disk; any other one belongs to a server that was first.
    if ((await stat(name)).size === 0) await rename(written, name);
  }
}

const codeOf = (error: unknown) => (error as { code?: string }).code;

/** Returns "" when there is no such file. */
async function textOf(file: string): Promise<string> {
  try {
    return await fs.promises.readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}
