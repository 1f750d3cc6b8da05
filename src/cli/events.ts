import type { BatchReport } from "../batch/apply.ts";
import type { Environment } from "../config.ts";
import { builtInEventTypes } from "../domain/events/catalogue.ts";
import { withAdminApi } from "./admin-api.ts";
import { type Command, UsageError } from "./command.ts";
import { sizeOf, streamOf } from "./input.ts";
import { print, table } from "./print.ts";
import { tellReport } from "./report.ts";
import { readArguments, readTarget, targetHelp, targetOptions } from "./target.ts";

const help = `Usage: onair events publish <file> [options]
       onair events types [name] [--json]

publish takes events from a file of NDJSON, one on each line, like
{"name": "channel.followed", "version": 1, "broadcaster_user_id": 1001, "data": {…}}, to a running server or into a
data directory that nobody serves, whose server sends them when it starts. "-" reads standard input.
types lists what can be published; with a name it shows an example.

  --idempotency-key KEY
                 publish the file only once: the same again under this key sends nothing
${targetHelp}
  --json         print the report, or the types with their schemas, as JSON

Refused lines are told with number and reason, and the rest is published. Exit code: 0 when every line was taken, 1
when some were refused or it failed, 2 for wrong usage.
`;

const options = {
  ...targetOptions,
  json: { type: "boolean" },
  "idempotency-key": { type: "string" },
} as const;

export const events: Command = {
  summary: "publish events, list their types",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [action, word, ...more] = positionals;
    if (more.length > 0) throw new UsageError(`"${more[0]}" is not expected here`);
    if (action === "types") return types(word, values.json ?? false);
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    if (action !== "publish") mistakes.push("the action must be one of publish, types");
    else if (word === undefined) mistakes.push("the file is missing");
    if (mistakes.length > 0 || word === undefined) throw new UsageError(mistakes.join("\n"));
    sizeOf(word); // throws where it cannot be read
    const key = values["idempotency-key"];
    const answer = await withAdminApi(target, async (api) => {
      const headers = key === undefined ? {} : { "idempotency-key": key };
      return (
        await api.send({ method: "POST", path: "/admin/v1/events", lines: streamOf(word), headers })
      ).json();
    });
    const report = answer as BatchReport;
    await tellReport(report, { json: values.json ?? false });
    return report.rejected === 0 ? 0 : 1;
  },
};

async function types(name: string | undefined, json: boolean): Promise<number> {
  const found = builtInEventTypes.filter((type) => name === undefined || type.name === name);
  if (found.length === 0) throw new UsageError(`There is no event ${name}; "onair events types" lists them`);
  if (json) {
    const shown = found.map(({ name, version, description, payload, example }) => {
      return { name, version, description, schema: payload, example };
    });
    await print(JSON.stringify(shown));
  } else if (name === undefined) {
    const rows = found.map(({ name, version, description }) => [name, String(version), description]);
    await print(table([["NAME", "VERSION", "DESCRIPTION"], ...rows]));
  } else {
    for (const { description, example } of found)
      await print(`${description}\n${JSON.stringify(example, null, 2)}`);
  }
  return 0;
}
