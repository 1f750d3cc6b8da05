import { isWebhookSecret } from "../delivery/signature.ts";
import { builtInEventTypes } from "../domain/events/built-in.ts";
import {
  command,
  type Given,
  type Reading,
  readForward,
  readNumber,
  repeatable,
  switches,
  valued,
} from "./arguments.ts";
import { readTarget, targetHelp, targetOptions } from "./calls/target.ts";
import { checkReceiver, sendSample } from "./check-receiver.ts";
import { UsageError } from "./command.ts";
import { eventNames } from "./event-names.ts";
import {
  newestOf,
  publishSample,
  readAssignment,
  type SampleRequest,
  withAssignments,
} from "./publish-sample.ts";

const help = `Usage: onair trigger <type> --forward URL --secret SECRET [--once] [options]
       onair trigger <type> [--broadcaster USER] [options]

Makes an event from the example of its type. "onair events types" lists the types.

With --forward, no server is needed: the event is sent to a local program, signed like a webhook.
Then the program is checked: how it answers a wrong signature, an old timestamp and a repeated id,
and how long its answers take. Each answer is shown beside the expected one.

Without --forward, the platform publishes the event to all its subscriptions.

  --forward URL  the local program, like http://localhost:3000/webhook
  --secret SECRET
                 the secret that the program verifies with, whsec_… (ONAIR_WEBHOOK_SECRET)
  --once         with --forward: only send the event, without checks
  --set PATH=VALUE
                 change the example, like sender.username=maya or giftees[0].user_id=7; may be
                 repeated. A value that is valid JSON is used as such, any other as a string
  --version N    the version of the type (default: the newest)
  --broadcaster USER
                 the channel's owner, by username or user id (default: the platform's first user);
                 with --forward by user id
${targetHelp}
  --json         print the answers, or the event, as JSON

Exit code: 0 on success, 1 on failure or if the program does not behave as it should, for example
accepts a wrong signature, 2 for wrong usage.
`;

const options = {
  ...targetOptions,
  ...switches("json", "once"),
  ...valued("forward", "secret", "broadcaster", "version"),
  ...repeatable("set"),
};
type Values = Given<typeof options>;

export const trigger = command({
  summary: "make a sample event: check a local receiver with it, or publish it",
  help,
  options,
  needs: 'the type of the event, one of "onair events types",',
  candidates: eventNames,
  async run({ words: [name = ""], values, env, out, mistakes, check }) {
    const sample = readSample(name, values, mistakes);
    if (values.forward !== undefined) return forward(sample, values, { env, out, mistakes });
    if (values.secret !== undefined || values.once) mistakes.push("--secret and --once need --forward");
    const target = readTarget(values, env, mistakes);
    check();
    await publishSample(target, sample, out);
  },
});

function readSample(name: string, values: Values, mistakes: string[]): SampleRequest {
  const assignments = (values.set ?? []).flatMap((text) => {
    try {
      return [readAssignment(text)];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      mistakes.push(error.message);
      return [];
    }
  });
  const { broadcaster } = values;
  const version = readNumber("version", values.version, mistakes, 1);
  return { name, version, broadcaster, assignments };
}

/** Sends the sample to a local program, by default with all checks. Returns the exit code. */
async function forward(
  { name, version, broadcaster, assignments }: SampleRequest,
  { forward = "", secret: given, once = false, url, data, database }: Values,
  { env, out, mistakes }: Reading,
): Promise<number> {
  const to = readForward(forward, mistakes);
  const channel = readNumber("broadcaster", broadcaster, mistakes, 1);
  if ((url ?? data ?? database) !== undefined)
    mistakes.push("--forward needs no server: leave out --url, --data and --database");
  const secret = given ?? env["ONAIR_WEBHOOK_SECRET"];
  if (secret === undefined)
    mistakes.push("the secret of the program is missing: give --secret or ONAIR_WEBHOOK_SECRET");
  else if (!isWebhookSecret(secret)) mistakes.push("--secret must be whsec_ and 24 to 64 bytes in base64");
  if (mistakes.length > 0 || secret === undefined) throw new UsageError(mistakes.join("\n"));
  const type = newestOf(builtInEventTypes, { name, version });
  const set = channel === undefined ? assignments : [inChannel(channel), ...assignments];
  const sample = { name, version: type.version, data: withAssignments(type.example, set) };
  const options = { url: to, secret, out };
  return (await (once ? sendSample : checkReceiver)(sample, options)) ? 0 : 1;
}

const inChannel = (id: number) => ({ path: ["broadcaster", "user_id"], value: id });
