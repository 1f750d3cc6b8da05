import { type App, startApp } from "../app.ts";
import { awsVariables } from "../backups/place.ts";
import type { Config } from "../config/config.ts";
import { checkConfig, type Environment, sound } from "../config/read-config.ts";
import { settingOptions, settingsHelp, unknownVariables } from "../config/setting-names.ts";
import { shownSettings } from "../config/shown-settings.ts";
import { createLog, errorFields, type Log, logFormats, logLevels } from "../log/log.ts";
import { fileLines } from "../log/log-file.ts";
import { LogOutput } from "../log/log-output.ts";
import { commit } from "../runtime/commit.ts";
import { version } from "../runtime/version.ts";
import { isThisMachineAlone } from "../serving/client-address.ts";
import { serviceManager } from "../serving/service-manager.ts";
import type { Command } from "./command.ts";
import { onSignals, onTermination } from "./signals.ts";

export const serve: Command = {
  summary: "run the server",
  values: { "log-level": logLevels, "log-format": logFormats },
  // Built on demand to keep them out of the start.
  get options() {
    return settingOptions();
  },
  get help() {
    return `Usage: onair serve [options]

Runs the server on the data of the data directory. Options win over environment variables, and
those over the file of settings. What is switched on there, an option takes back: --portal=false.
Of an option that is given twice the last one counts.

${settingsHelp()}

The first start makes an operator key, unless ONAIR_ADMIN_KEY is set. It is shown on the terminal;
where standard output is none, it is in the file onair.admin-key of the data directory. "onair
admin-key" makes more, and one in place of a lost.

SIGTERM and SIGINT stop it, a second one at once. SIGHUP opens the log file again,
reads certificates again, and takes rate-limit, subscription-limit and stream-limit of a
changed file of settings; the log names others that changed, which count from the next start.
SIGUSR1 and SIGUSR2 are ignored.
`;
  },
  async run(args: readonly string[], env: Environment) {
    const { config, secretFiles } = sound(checkConfig(args, env));
    // First, because Bun needs a moment to install the handlers, and callers may send a signal once the ready line
    // appears.
    const terminated = onTermination();
    const log = await logOf(config, env);
    for (const unknown of unknownVariables(env)) log.warn("unknown_setting", unknown);
    log.info("starting", {
      version,
      commit: commit ?? undefined,
      pid: process.pid,
      settings: shownSettings(config),
    });
    warnOfExposure(config, log);
    const manager = await serviceManager(env, log);
    const showAdminKey = process.stdout.isTTY ? printKey : undefined;
    const app = await startApp({ config, log, env, secretFiles, showAdminKey, aws: awsVariables(env) }).catch(
      async (error) => {
        // Standard error has it in any case.
        if (config.logFile !== null) log.error("start_failed", errorFields(error));
        await log.flush();
        throw error;
      },
    );
    onSignals(["SIGHUP"], () => readAgain(app, checkConfig(args, env), log));
    log.info("started", {
      version,
      commit: commit ?? undefined,
      public: app.publicUrl,
      admin: app.adminUrl,
      redirect: app.redirectPort ?? undefined,
    });
    process.stdout.write(`onair ready public=${app.publicUrl} admin=${app.adminUrl}\n`);
    manager.ready();
    const signal = await terminated;
    manager.stopping();
    log.info("stopping", { signal, drain_delay: config.drainDelay });
    await app.stop();
    log.info("stopped", { uptime_seconds: Math.round(process.uptime()) });
    await log.flush();
    return 0;
  },
};

/** Printed on standard output: standard error carries the log. */
function printKey(secret: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const line = `Operator key, shown only this once: ${secret}\n`;
    process.stdout.write(line, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * The log that the settings name; SIGHUP reopens its file. Also ignores signals without a meaning here, which would end
 * the process.
 */
async function logOf({ logLevel, logFile, logFormat }: Config, env: Environment): Promise<Log> {
  const isTerminal = logFile === null && process.stderr.isTTY === true;
  const isText = logFormat === "text" || (logFormat === "auto" && isTerminal);
  const output = new LogOutput({
    ...(logFile !== null && { open: fileLines(logFile) }),
    ...(isText && { render: await textRendering(isTerminal, env) }),
  });
  const log = createLog(logLevel, Date.now, output);
  onSignals(["SIGHUP", "SIGUSR1", "SIGUSR2"], (signal) => {
    if (signal !== "SIGHUP") return log.info("signal_ignored", { signal });
    if (logFile === null) return;
    output.reopen();
    log.info("log_reopened", { signal, file: logFile });
  });
  return log;
}

/** Renders lines for people; in colour on a terminal. */
async function textRendering(isTerminal: boolean, env: Environment) {
  const { textLines } = await import("./output/log-lines.ts");
  const { terminalOn } = await import("../dev/terminal.ts");
  return textLines(terminalOn({ isTTY: isTerminal, write() {} }, env).style);
}

/** Takes what may change while the server runs; mistakes change nothing. */
function readAgain(app: App, { config, mistakes }: ReturnType<typeof checkConfig>, log: Log): void {
  app.certificates.look();
  if (mistakes.length > 0) {
    const effect = "the former ones stay in force";
    log.error("settings_not_taken", { signal: "SIGHUP", mistakes, effect });
    return;
  }
  const { changed, needRestart } = app.reload(config);
  log.info("settings_read_again", { signal: "SIGHUP", changed });
  if (needRestart.length > 0) log.warn("settings_need_restart", { names: needRestart });
}

/**
 * Warns when the admin listener is reachable from other machines: it gives full control to every caller with the key,
 * and health and metrics without one.
 */
function warnOfExposure({ adminHost, adminTlsCert }: Config, log: Log): void {
  if (isThisMachineAlone(adminHost) || adminTlsCert !== null) return;
  const message =
    "The admin listener can be reached from other machines, without encryption: let only the platform's own machines through to it";
  log.warn("admin_listener_exposed", { host: adminHost, message });
}
