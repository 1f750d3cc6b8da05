import type { AnswerOf } from "../../client/create-client.ts";
import type { Environment } from "../../config/read-config.ts";
import { noMore, readArguments, readNumber, switches, valued } from "../arguments.ts";
import { publicHelp, publicOptions, readPublicTarget, withPublicApi } from "../client/public-api.ts";
import { type Command, failed, ok, UsageError } from "../command.ts";
import { eventNames, profileNames } from "../completion/words.ts";
import { note } from "../output/list.ts";
import { print, recordLines, screen } from "../output/print.ts";
import { knownTypes } from "./event-types.ts";

const help = `Usage: onair test [event type] [options]

Has the platform send a signed sample to your webhook URL now, and shows the whole exchange with its
timings, and what the receiver did wrong. Ten a minute. "onair trigger --forward" checks a receiver
on this machine without any server.

  --version N    the version of the type (default: the newest)
${publicHelp}
  --json         print the exchange as JSON

Exit code: 0 when the receiver took it, 1 when it did not or it failed, 2 for wrong usage.
`;

const options = { ...publicOptions, ...valued("version"), ...switches("json") } as const;

export const testCommand: Command = {
  summary: "have a signed sample sent to your webhook URL, and see the exchange",
  help,
  options,
  words: { first: eventNames, values: { profile: profileNames } },
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [event, ...more] = positionals;
    const mistakes: string[] = [];
    noMore(more, mistakes);
    const version = readNumber("version", values.version, mistakes, { minimum: 1 });
    if (event === undefined && version !== undefined) mistakes.push("--version needs an event type");
    const target = readPublicTarget(values, env, mistakes);
    if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
    return withPublicApi(target, async (api) => {
      const [type] = event === undefined ? [] : await knownTypes(api, [event], version);
      const body = type ? { event: type.name, version: type.version } : {};
      const { data } = await api.post("/public/v1/events/test", { body });
      if (values.json) await print(JSON.stringify(data));
      else await show(data, env);
      return data.delivered ? ok : failed;
    });
  },
};

type Exchange = AnswerOf<"/public/v1/events/test", "post">["data"];

async function show(
  { delivered, problem, request, response, error, duration_ms, timings }: Exchange,
  env: Environment,
): Promise<void> {
  const on = screen(env);
  const taken = Object.entries(timings).flatMap(([name, ms]) =>
    ms === null ? [] : [[name.replace(/_ms$/, "").replace("_", " "), `${ms} ms`]],
  );
  const parts = [
    `${request.method} ${request.url}`,
    recordLines(request.headers, on),
    request.body,
    response === null ? `No answer: ${error ?? ""}` : `Answer ${response.status} after ${duration_ms} ms`,
    ...(response === null || Object.keys(response.headers).length === 0
      ? []
      : [recordLines(response.headers, on)]),
    ...(response?.body ? [recordLines({ body: response.body }, on)] : []),
    ...(taken.length > 0 ? [recordLines(Object.fromEntries(taken), on)] : []),
  ];
  await print(parts.join("\n\n"));
  note(problem ?? error ?? (delivered ? "The receiver did all right." : "It is not delivered."));
}
