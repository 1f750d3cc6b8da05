import { command, switches } from "./arguments.ts";
import { withAdminApi } from "./client/admin-api.ts";
import { readTarget, targetHelp, targetOptions } from "./client/target.ts";
import { lineEnds } from "./input.ts";
import { countOf, stopwatch } from "./output/format.ts";
import { checkOutputFile, replaceFile } from "./output/output-file.ts";
import { write } from "./output/print.ts";

const help = `Usage: onair export <kind> [file] [options]

Writes all rows of a kind as NDJSON, in the form that "onair import" takes: imported into an empty
directory in the order users, categories, channels, livestreams, they give the same answers.
<kind> is one of these four. Without a file, or with "-", it goes to standard output.

${targetHelp}
  --force        replace a file that exists
  --json         with a file: print how many rows there are as JSON

A server goes on answering and changing meanwhile, so let its data rest for an export that fits
together. A file is there as a whole or not at all. Exit code: 0 when all is written, 1 when it
failed, 2 for wrong usage.
`;

const most = 1;

export const exportCommand = command({
  summary: "write the platform's data to a file",
  help,
  options: { ...targetOptions, ...switches("force", "json") },
  called: "kind",
  actions: { users: { most }, categories: { most }, channels: { most }, livestreams: { most } },
  async run({ action: kind, words: [file = "-"], values, env, out, mistakes, check }) {
    const target = readTarget(values, env, mistakes);
    if (file !== "-") checkOutputFile(file, { force: values.force ?? false }, mistakes);
    check();
    const path = kind === "livestreams" ? "/admin/v1/livestreams" : `/admin/v1/${kind}/batch`;
    const took = stopwatch();
    const rows = await withAdminApi(target, async (api) => {
      const { body } = await api.send({ method: "GET", path });
      return file === "-" ? copy(body, write) : replaceFile(file, (partial) => toFile(body, partial));
    });
    if (file !== "-") await out.answer({ rows }, `${countOf(rows, "row")} ${took()}`);
  },
});

/** Copies a stream at the pace of its reader; returns the number of lines. */
async function copy(
  stream: ReadableStream<Uint8Array> | null,
  put: (chunk: Uint8Array) => Promise<unknown>,
): Promise<number> {
  let rows = 0;
  for await (const chunk of stream ?? []) {
    rows += lineEnds(chunk);
    await put(chunk);
  }
  return rows;
}

async function toFile(stream: ReadableStream<Uint8Array> | null, file: string): Promise<number> {
  const writer = Bun.file(file).writer();
  const rows = await copy(stream, async (chunk) => {
    writer.write(chunk);
    await writer.flush();
  });
  await writer.end();
  return rows;
}
