import type { Finding } from "../domain/findings.ts";
import { examine } from "../operations/checks/checks.ts";
import { checkArguments } from "../server/settings/command-line.ts";
import { type CheckedConfig, checkConfig, type Environment } from "../server/settings/read-config.ts";
import { settingOptions, settingsWithSources } from "../server/settings/shown-settings.ts";
import { databaseAt } from "../server/storage-at.ts";
import { databaseCheckProgram } from "../thread-programs.ts";
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
    const subject = { ...checked, env, program: databaseCheckProgram, databaseAt, now: Date.now };
    const findings = await Array.fromAsync(examine({ ...subject, place: "config" }));
    const ofSettings = findings.filter(({ check }) => check === "settings");
    noteProblems(action === "show" ? ofSettings : findings);
    if (checked.mistakes.length > 0) return wrongUsage;
    if (action === "show") return show(checked, checked.flags["json"] === true);
    if (ofSettings.some(({ status }) => status !== "ok")) return failed;
    await print("The settings are correct.");
    return ok;
  },
};

/** Prints the problems on standard error. Findings with the same advice share one line of advice below them. */
function noteProblems(findings: readonly Finding[]): void {
  const problems = findings.filter(({ status }) => status !== "ok");
  for (const [i, { message, advice }] of problems.entries()) {
    note(message);
    if (advice !== null && advice !== problems[i + 1]?.advice) note(`  → ${advice}`);
  }
}

async function show({ config, sources }: CheckedConfig, json: boolean): Promise<number> {
  const list = settingsWithSources(config, sources);
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
