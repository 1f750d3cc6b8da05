import { messageOf } from "../domain/errors.ts";
import { awsVariables } from "../operations/backups/destination.ts";
import { readCredentials } from "../operations/backups/s3.ts";
import { checkArguments } from "../server/settings/command-line.ts";
import { checkConfig, type Environment } from "../server/settings/read-config.ts";
import { settingOptions, unknownVariables } from "../server/settings/setting-names.ts";
import { settingsWithSources } from "../server/settings/shown-settings.ts";
import { readWord, switches } from "./arguments.ts";
import { type Command, failed, ok, UsageError, wrongUsage } from "./command.ts";
import { note, print } from "./output/print.ts";

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

check  reports all mistakes in the settings file, the variables and the options, as a server would
       at its start. Also reports unknown ONAIR_ variables, and missing credentials for backups to
       S3. Starts nothing.
show   lists the settings in effect with the source of each value. Secrets are not shown.

  --config FILE      the settings file [ONAIR_CONFIG]
  --json             print {data: […]} of {name, value, source, default, is_secret, help}

A settings file is TOML, with settings named like the options:

  port = 8080
  public-url = "https://api.example.com"
  trusted-proxies = ["10.0.0.0/8"]
  admin-key-file = "/etc/onair/admin-key"
  [time-to-live]
  "chat.message.sent" = 600

Exit code: 0 if all is correct, 1 if check found unknown variables, 2 for mistakes.
`,
  async run(args: readonly string[], env: Environment) {
    const [word, ...rest] = args;
    const mistakes = [...checkArguments(args, this.options).mistakes];
    const action = readWord("action", word, actionNames, mistakes);
    if (action === undefined) throw new UsageError(mistakes.join("\n"));
    const checked = checkConfig(rest, env, {}, switches("json"));
    const unknown = unknownVariables(env).map(({ name, meant }) => {
      return `${name} is set, but is not a setting.${meant === null ? "" : ` Did you mean ${meant}?`}`;
    });
    for (const line of [...checked.mistakes, ...unknown]) note(line);
    if (checked.mistakes.length > 0) return wrongUsage;
    if (action === "show") return show(checked, checked.flags["json"] === true);
    const missing = missingCredentials(checked.config.backupTo, env);
    if (missing !== null) note(missing);
    return check(unknown.length === 0);
  },
};

/** Returns a note when backups go to S3 without credentials; else null. The server may have them in its environment. */
function missingCredentials(backupTo: string | null, env: Environment): string | null {
  if (!backupTo?.startsWith("s3://")) return null;
  try {
    readCredentials(awsVariables(env));
    return null;
  } catch (error) {
    return `backup-to is ${backupTo}. ${messageOf(error)} If only the service has them in its environment, that is fine.`;
  }
}

async function check(isKnown: boolean): Promise<number> {
  if (!isKnown) return failed;
  await print("The settings are correct.");
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
