import { builtInEventNames, builtInEventTypes } from "../domain/events/built-in.ts";
import type { RegisteredEventType } from "../domain/events/catalogue.ts";
import type { BatchReport } from "../platform/batches.ts";
import { checkArguments } from "../server/settings/command-line.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { command, switches, valued } from "./arguments.ts";
import { withAdminApi } from "./calls/admin-api.ts";
import { didYouMeanType, registeredTypes } from "./calls/names.ts";
import { namesData, readTarget, refuseContent, targetHelp, targetOptions } from "./calls/target.ts";
import { type Command, UsageError } from "./command.ts";
import { sizeOf, streamOf } from "./files.ts";
import type { Output } from "./output/output.ts";
import { print, printReport, stopwatch, table } from "./output/print.ts";
import { trigger } from "./trigger.ts";

const help = `Usage: onair events publish <file> [options]
       onair events types [name] [--json]
       onair events trigger <type> [options]

publish reads events from an NDJSON file, one per line, like {"name": "channel.followed",
"version": 1, "broadcaster_user_id": 1001, "data": {…}}. It publishes them at a running server, or
in a data directory that no server uses; they are then sent when a server starts on it. "-" reads
standard input. types lists the event types; with --url or --data also those that the platform
registered, and with a name an example. trigger makes one event from the example of its type:
"onair trigger --help" lists its options.

  --idempotency-key KEY
                 publish the file only once: a repetition with the same key sends nothing
${targetHelp}
  --json         print the report, or the types with their schemas ({data: […]}), as JSON

Rejected lines are reported with number and reason; all others are published. Exit code: 0 if every
line was accepted, 1 if some were rejected or the command failed, 2 for wrong usage.
`;

const options = { ...targetOptions, ...switches("json"), ...valued("idempotency-key") };

const publishing = command({
  summary: "publish events, list event types",
  help,
  options,
  actions: {
    publish: { needs: "the file", options: ["idempotency-key"] },
    types: { most: 1, candidates: builtInEventNames },
    trigger: { candidates: builtInEventNames },
  },
  async run({ action, words: [word = ""], values, env, out, mistakes, check }) {
    // Built-in types need no server. The server named by the environment is used only if a key is set as well.
    const { ONAIR_ADMIN_URL, ONAIR_URL, ONAIR_ADMIN_KEY, ONAIR_ADMIN_KEY_FILE } = env;
    const isNamed = values.url !== undefined || namesData(values);
    const isWanted =
      isNamed || Boolean((ONAIR_ADMIN_URL || ONAIR_URL) && (ONAIR_ADMIN_KEY ?? ONAIR_ADMIN_KEY_FILE));
    const withoutServer = { ...env, ONAIR_URL: undefined, ONAIR_ADMIN_URL: undefined };
    const targetEnv = action === "types" && !isWanted ? withoutServer : env;
    const target = readTarget(values, targetEnv, mistakes);
    refuseContent(values, 'name a file with the event as JSON, or "-" for standard input', mistakes);
    check();
    if (action === "types") {
      const more = isWanted ? await withAdminApi(target, registeredTypes) : [];
      return types([...builtIn, ...more], word, out);
    }
    sizeOf(word); // throws when it is unreadable
    const key = values["idempotency-key"];
    const headers = key === undefined ? {} : { "idempotency-key": key };
    const took = stopwatch();
    return withAdminApi(target, async (api) => {
      const lines = streamOf(word);
      const answer = await api.send({ method: "POST", path: "/admin/v1/events", lines, headers });
      const report = (await answer.json()) as Omit<BatchReport, "duplicate_ids">;
      const alreadySent = answer.headers.get("idempotent-replayed") === "true";
      await printReport(report, { json: out.json, alreadySent, took: took() });
      return report.rejected === 0 ? 0 : 1;
    });
  },
});

export const events: Command = {
  ...publishing,
  async run(args: readonly string[], env: Environment) {
    // An alias of "onair trigger".
    const [first] = checkArguments(args, { ...trigger.options, ...options }).positionals;
    if (first === "trigger") return trigger.run(args.toSpliced(args.indexOf("trigger"), 1), env);
    return publishing.run(args, env);
  },
};

type ShownType = Pick<RegisteredEventType, "name" | "version" | "description" | "schema"> & {
  readonly example: unknown;
};

const builtIn: readonly ShownType[] = builtInEventTypes.map((type) => {
  const { name, version, description, payload: schema, example } = type;
  return { name, version, description, schema, example };
});

async function types(all: readonly ShownType[], name: string, out: Output): Promise<number> {
  const found = all.filter((type) => name === "" || type.name === name);
  if (name !== "" && found.length === 0) {
    const names = all.map((type) => type.name);
    const meant = didYouMeanType(name, names);
    throw new UsageError(`There is no event type ${name}.${meant} "onair events types" lists all.`);
  }
  if (out.json) {
    const listed = found.map(({ name, version, description, schema, example }) => {
      return { name, version, description, schema, example };
    });
    await print(JSON.stringify({ data: listed }));
  } else if (name === "") {
    const rows = found.map(({ name, version, description }) => [name, String(version), description]);
    // Full descriptions, not cut to the terminal.
    const on = { ...out.screen, columns: null };
    await print(table(["NAME", "VERSION", "DESCRIPTION"], rows, on));
  } else {
    for (const { description, example } of found)
      await print(`${description}\n${JSON.stringify(example, null, 2)}`);
  }
  return 0;
}
