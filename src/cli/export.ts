import { existsSync, renameSync, rmSync } from "node:fs";
import { type DataKind, dataKinds } from "../batch/platform-data.ts";
import type { Environment } from "../config.ts";
import { withAdminApi } from "./admin-api.ts";
import { type Command, UsageError } from "./command.ts";
import { print, write } from "./print.ts";
import { readArguments, readTarget, targetHelp, targetOptions } from "./target.ts";

const help = `Usage: onair export <kind> [file] [options]

Writes all rows of a kind as NDJSON, in the form that "onair import" takes: imported into an empty directory in the
order users, categories, channels, livestreams, they give the same answers. <kind> is one of these four. Without a
file, or with "-", it goes to standard output.

${targetHelp}
  --force        replace a file that exists
  --json         with a file: print how many rows there are as JSON

A server goes on answering and changing meanwhile, so let its data rest for an export that fits together. A file is
there as a whole or not at all. Exit code: 0 when all is written, 1 when it failed, 2 for wrong usage.
`;

const options = { ...targetOptions, force: { type: "boolean" }, json: { type: "boolean" } } as const;

export const exportCommand: Command = {
  summary: "write the platform's data to a file",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [kind, file = "-", ...more] = positionals;
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    if (!isKind(kind)) mistakes.push(`the kind must be one of ${dataKinds.join(", ")}`);
    if (more.length > 0) mistakes.push(`"${more[0]}" is not expected here`);
    if (file !== "-" && !values.force && existsSync(file))
      mistakes.push(`${file} exists; --force replaces it`);
    if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
    const path = kind === "livestreams" ? "/admin/v1/livestreams" : `/admin/v1/${kind}/batch`;
    const rows = await withAdminApi(target, async (api) => {
      const { body } = await api.send({ method: "GET", path });
      return file === "-" ? copy(body, write) : toFile(body, file);
    });
    if (file !== "-") await print(values.json ? JSON.stringify({ rows }) : `${rows} rows`);
    return 0;
  },
};

function isKind(word: string | undefined): word is DataKind {
  return dataKinds.some((kind) => kind === word);
}

const newline = 0x0a;

/** Hands on a stream, as fast as it is taken; gives the number of its lines. */
async function copy(
  stream: ReadableStream<Uint8Array> | null,
  put: (chunk: Uint8Array) => Promise<unknown>,
): Promise<number> {
  let rows = 0;
  for await (const chunk of stream ?? []) {
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, end + 1)) rows++;
    await put(chunk);
  }
  return rows;
}

/** Into a file beside, which takes the place of the file when it is whole. */
async function toFile(stream: ReadableStream<Uint8Array> | null, file: string): Promise<number> {
  const partial = `${file}.partial`;
  try {
    const writer = Bun.file(partial).writer();
    const rows = await copy(stream, async (chunk) => {
      writer.write(chunk);
      await writer.flush();
    });
    await writer.end();
    renameSync(partial, file);
    return rows;
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}
