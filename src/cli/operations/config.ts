import { awsVariables } from "../../backups/place.ts";
import { readCredentials } from "../../backups/s3/credentials.ts";
import { checkArguments } from "../../config/command-line.ts";
import { checkConfig, type Environment } from "../../config/read-config.ts";
import { settingOptions, unknownVariables } from "../../config/setting-names.ts";
import { settingsWithSources } from "../../config/shown-settings.ts";
import { messageOf } from "../../domain/errors.ts";
import { readWord, switches } from "../arguments.ts";
import { type Command, failed, ok, UsageError, wrongUsage } from "../command.ts";
import { note, print } from "../output/print.ts";

const actions = { check: {}, show: { options: ["json"] } } as const;
const actionNames = ["check", "show"] as const;

export const configCommand: Command = {
  summary: "check the settings, and show where each comes from",
  actions,
  get options() {
    return settingOptions(switches("json"));
  },
  help: `Usage: onair config check [--config FILE] [options of onair serve]
       onair config show [--config FILE] [options of onair serve] [--json]

check  tells all mistakes in the file of settings, the variables and the options, as the server
       would at its start, variables that are no settings, and that backups to S3 lack credentials.
       Starts nothing.
show   lists the settings in force, and where each value comes from. Secrets are not shown.

  --config FILE      the file of settings [ONAIR_CONFIG]
  --json             print {data: […]} of {name, value, source, default, is_secret, help}

A file of settings is TOML and names them like the options:

  port = 8080
  public-url = "https://api.example.com"
  trusted-proxies = ["10.0.0.0/8"]
  admin-key-file = "/etc/onair/admin-key"
  [time-to-live]
  "chat.message.sent" = 600

Exit code: 0 when all is well, 1 when check warns of variables that are no settings, 2 for mistakes.
`,
  async run(args: readonly string[], env: Environment) {
    const [word, ...rest] = args;
    const mistakes = [...checkArguments(args, this.options).mistakes];
    const action = readWord("action", word, actionNames, mistakes);
    if (action === undefined) throw new UsageError(mistakes.join("\n"));
    const checked = checkConfig(rest, env, {}, switches("json"));
    const unknown = unknownVariables(env).map(({ name, meant }) => {
      return `${name} is set, and no setting has that variable.${meant === null ? "" : ` Did you mean ${meant}?`}`;
    });
    for (const line of [...checked.mistakes, ...unknown]) note(line);
    if (checked.mistakes.length > 0) return wrongUsage;
    if (action === "show") return show(checked, checked.flags["json"] === true);
    const missing = missingCredentials(checked.config.backupTo, env);
    if (missing !== null) note(missing);
    return check(unknown.length === 0);
  },
};

/** What to do where backups go to S3 without credentials; a mistake only where the server does not have them, either. */
function missingCredentials(backupTo: string | null, env: Environment): string | null {
  if (!backupTo?.startsWith("s3://")) return null;
  try {
    readCredentials(awsVariables(env));
    return null;
  } catch (error) {
    return `backup-to is ${backupTo}. ${messageOf(error)} Where the service alone has them, all is well.`;
  }
}

async function check(isKnown: boolean): Promise<number> {
  if (!isKnown) return failed;
  await print("The settings are right.");
  return ok;
}

async function show(checked: Parameters<typeof settingsWithSources>[0], json: boolean): Promise<number> {
  const list = settingsWithSources(checked);
  if (json) await print(JSON.stringify({ data: list }));
  else {
    const width = Math.max(...list.map(({ name }) => name.length));
    for (const { name, value, source } of list) {
      const from = source === "default" ? "" : `  (${source})`;
      await print(`${name.padEnd(width)}  ${value ?? "-"}${from}`);
    }
  }
  return ok;
}
