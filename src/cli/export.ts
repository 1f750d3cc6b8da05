import { command, switches } from "./arguments.ts";
import { withAdminApi } from "./calls/admin-api.ts";
import { readTarget, targetHelp, targetOptions } from "./calls/target.ts";
import { checkOutputFile, lineEnds, replaceFile } from "./files.ts";
import { countOf, stopwatch, write } from "./output/print.ts";

const help = `Usage: onair export <kind> [file] [options]

Writes all rows of a kind as NDJSON, in the form that "onair import" reads. Import the kinds in the
order users, categories, channels, livestreams to get the same data in an empty directory. <kind> is
one of these four. Without a file, or with "-", the rows go to standard output.

${targetHelp}
  --force        replace an existing file
  --json         with a file: print the number of rows as JSON

A running server continues to change its data: for a consistent export of several kinds, pause the
changes. The file appears only when it is complete. Exit code: 0 on success, 1 on failure, 2 for
wrong usage.
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

/** Passes each chunk to `put` and waits until it is written. Returns the number of lines. */
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
