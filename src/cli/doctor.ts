import type { Finding } from "../domain/findings.ts";
import { examine } from "../operations/checks/checks.ts";
import { logLevels } from "../runtime/log.ts";
import { commit, version, versionWithCommit } from "../runtime/version.ts";
import { checkConfig, type Environment } from "../server/settings/read-config.ts";
import { settingOptions, settingsHelp } from "../server/settings/shown-settings.ts";
import { databaseAt } from "../server/storage-at.ts";
import { locationOf, shownDataLocation } from "../store/location.ts";
import { databaseCheckProgram } from "../thread-programs.ts";
import { switches, valued } from "./arguments.ts";
import { certificateOf } from "./calls/target.ts";
import { type Command, UsageError } from "./command.ts";
import { print, type Screen, screen } from "./output/print.ts";

const integrityTimeoutMs = 20_000;

const ownOptions = {
  ...switches("json", "full", "reach"),
  ...valued("url", "client-cert", "client-key"),
} as const;

export const doctor: Command = {
  summary: "check settings, data directory and server",
  get options() {
    return settingOptions(ownOptions);
  },
  values: { "log-level": logLevels },
  get help() {
    return `Usage: onair doctor [options]

Checks the settings, the data directory and its server, and says what is fine, what is wrong and how
to correct it. Give it the options and variables of "onair serve". It changes nothing, prints no
secret, and can run beside a server. It sends requests only to loopback, unless you ask for more:

  --url URL                  the admin listener of any server; with ONAIR_ADMIN_KEY, the server's
                             own findings are shown as well. Without --data or ONAIR_DATA, only the
                             settings and that server are checked
  --client-cert FILE, --client-key FILE
                             for an admin listener with --admin-tls-client-ca: a certificate signed
                             by that authority and its key, both PEM [ONAIR_CLIENT_CERT,
                             ONAIR_CLIENT_KEY]
  --reach                    also check that the server answers at the public URL
  --full                     compare every index with its table, without time limit; otherwise the
                             check of the database ends after ${integrityTimeoutMs / 1000} s
  --json                     print the findings as JSON

${settingsHelp()}

Exit code: 0 if nothing is wrong (warnings do not count), 1 if something is, 2 for wrong usage.
`;
  },
  async run(args: readonly string[], env: Environment) {
    const usage = checkConfig(args, {}, {}, ownOptions);
    const misused = [...usage.mistakes];
    // Every option that takes a value is a string, because a missing value is a mistake.
    const { url: address, data: named, database, ...flags } = usage.flags as Readonly<Record<string, string>>;
    const certificate = certificateOf(flags, env, misused);
    if (misused.length > 0) throw new UsageError(misused.join("\n"));
    const { config, mistakes, secretFiles } = checkConfig(args, env, {}, ownOptions);
    const url = address === undefined ? null : adminUrl(address);
    const { json = false, full = false, reach = false } = usage.flags;
    const isNamed =
      (named ?? database ?? (env["ONAIR_DATA"] || undefined)) !== undefined || config.database !== null;
    const withData = url === null || isNamed;
    const findings: Finding[] = [];
    if (!json) await print(`onair ${versionWithCommit}\n`);
    const doctor = {
      url,
      certificate,
      withData,
      reach: reach === true,
      full: full === true,
      integrityTimeoutMs: full ? Number.POSITIVE_INFINITY : integrityTimeoutMs,
    };
    const subject = {
      config,
      mistakes,
      secretFiles,
      env,
      doctor,
      program: databaseCheckProgram,
      databaseAt,
      now: Date.now,
    };
    for await (const finding of examine({ ...subject, place: "doctor" })) {
      findings.push(finding);
      if (!json) await print(findingLine(finding, screen(env)));
    }
    const count = (status: Finding["status"]) => findings.filter((one) => one.status === status).length;
    const wrong = count("wrong");
    const data = withData ? shownDataLocation(locationOf(config)) : null;
    if (json) await print(JSON.stringify({ ok: wrong === 0, version, commit, data, url, findings }));
    else await print(`\n${summary(wrong, count("warning"))}`);
    return wrong === 0 ? 0 : 1;
  },
};

function adminUrl(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.search && !url.hash)
    return url.href.replace(/\/+$/, "");
  throw new UsageError(`--url must be an http or https URL, not "${text}"`);
}

const words = { ok: "ok", warning: "warning", wrong: "WRONG", skipped: "skipped" } as const;

const styles = { ok: "green", warning: "yellow", wrong: "red", skipped: "dim" } as const;

function findingLine({ check, status, message, advice }: Finding, { style }: Screen): string {
  const line = `${style(styles[status], words[status].padEnd(8))} ${check.replaceAll("_", " ").padEnd(16)} ${message}`;
  return advice === null ? line : `${line}\n${" ".repeat(26)}→ ${advice}`;
}

function summary(wrong: number, warnings: number): string {
  const looks =
    warnings === 0 ? "" : ` ${warnings} ${warnings === 1 ? "thing is" : "things are"} worth a look.`;
  if (wrong === 0) return `Nothing is wrong.${looks}`;
  return `${wrong} ${wrong === 1 ? "thing is" : "things are"} wrong.${looks}`;
}
