import { newReplica } from "../domain/ids.ts";
import { awsVariables } from "../operations/backups/destination.ts";
import { cFunctions } from "../runtime/c-library.ts";
import { isThisMachineAlone } from "../runtime/client-address.ts";
import { descriptorLimit } from "../runtime/descriptors.ts";
import { createLog, type Log, logFormats, logLevels } from "../runtime/log.ts";
import { fileLines, LogOutput } from "../runtime/log-output.ts";
import { commit, version } from "../runtime/version.ts";
import type { Config } from "../server/settings/config.ts";
import { checkConfig, type Environment, sound } from "../server/settings/read-config.ts";
import {
  settingOptions,
  settingsHelp,
  shownSettings,
  unknownVariables,
} from "../server/settings/shown-settings.ts";
import { type App, startApp } from "../server/start.ts";
import { type Command, onSignals, onTermination } from "./command.ts";

export const serve: Command = {
  summary: "run the server",
  values: { "log-level": logLevels, "log-format": logFormats },
  // Options are built on demand, because a start does not need them.
  get options() {
    return settingOptions();
  },
  get help() {
    return `Usage: onair serve [options]

Runs the server on a data directory or a PostgreSQL database. Options override environment
variables, which override the settings file; --portal=false turns off a switch that is set there. If
an option is given twice, the last one counts.

${settingsHelp()}

The first start makes an operator key, unless ONAIR_ADMIN_KEY is set, and shows it on the terminal.
If standard output is not a terminal, the key is in the file onair.admin-key of the data directory.
"onair admin-key" makes further keys, and replaces a lost one.

SIGTERM and SIGINT stop the server gracefully; a second signal ends it at once. SIGHUP reopens the
log file, reads the certificates again, and applies rate-limit, subscription-limit and stream-limit
from the settings file; the log names other changed settings, which need a restart. SIGUSR1 and
SIGUSR2 are ignored.
`;
  },
  async run(args: readonly string[], env: Environment) {
    const { config, secretFiles } = sound(checkConfig(args, env));
    requireDescriptors();
    // Handlers of signals are installed first: Bun installs them with a delay, and a signal may follow the ready line.
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
        // `runCommand` prints the error on standard error.
        if (config.logFile !== null) log.failure("start_failed", error);
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

/** With fewer descriptors, the database and its backups cannot be opened beside a few connections. */
const fewestDescriptors = 64;

/** Throws when this process may have too few open files and connections. */
function requireDescriptors(): void {
  const limit = descriptorLimit();
  if (limit === null || limit >= fewestDescriptors) return;
  throw new Error(
    `The server needs at least ${fewestDescriptors} open files and connections, and may have only ${limit}: raise the limit (ulimit -n; LimitNOFILE= of systemd), better to some tens of thousands`,
  );
}

/** Prints the operator key on standard output, because standard error has the log. */
function printKey(secret: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const line = `Operator key, shown only this once: ${secret}\n`;
    process.stdout.write(line, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * Opens the log that the settings name. SIGHUP reopens the file of the log. Also handles SIGUSR1 and SIGUSR2, which
 * would otherwise end the process.
 */
async function logOf({ logLevel, logFile, logFormat, database }: Config, env: Environment): Promise<Log> {
  const isTerminal = logFile === null && process.stderr.isTTY === true;
  const isText = logFormat === "text" || (logFormat === "auto" && isTerminal);
  const replica = database === null ? null : newReplica();
  const output = new LogOutput({
    replica,
    ...(logFile !== null && { open: fileLines(logFile) }),
    ...(isText && { render: await textRendering(isTerminal, env) }),
  });
  const log = createLog(logLevel, Date.now, output, replica);
  onSignals(["SIGHUP", "SIGUSR1", "SIGUSR2"], (signal) => {
    if (signal !== "SIGHUP") return log.info("signal_ignored", { signal });
    if (logFile === null) return;
    output.reopen();
    log.info("log_reopened", { signal, file: logFile });
  });
  return log;
}

/** Loads the rendering of log lines as text; in colour on a terminal. */
async function textRendering(isTerminal: boolean, env: Environment) {
  const { textLines } = await import("./output/log-lines.ts");
  const { terminalOn } = await import("../runtime/terminal.ts");
  return textLines(terminalOn({ isTTY: isTerminal, write() {} }, env).style);
}

/** Applies the settings that can change while the server runs. With mistakes, nothing changes. */
function readAgain(app: App, { config, mistakes }: ReturnType<typeof checkConfig>, log: Log): void {
  app.certificates.check();
  if (mistakes.length > 0) {
    const effect = "the previous settings stay in effect";
    log.error("settings_not_taken", { signal: "SIGHUP", mistakes, effect });
    return;
  }
  const { changed, needRestart } = app.reload(config);
  log.info("settings_read_again", { signal: "SIGHUP", changed });
  if (needRestart.length > 0) log.warn("settings_need_restart", { names: needRestart });
}

/**
 * Warns when other machines can reach the admin listener without TLS. The listener gives full control to every caller
 * with a key, and shows health and metrics without a key.
 */
function warnOfExposure({ adminHost, adminTlsCert }: Config, log: Log): void {
  if (isThisMachineAlone(adminHost) || adminTlsCert !== null) return;
  const message =
    "Other machines can reach the admin listener without encryption: restrict access to the platform's own machines, or set --admin-tls-cert";
  log.warn("admin_listener_exposed", { host: adminHost, message });
}

/**
 * Notifies systemd of the state of the service (`Type=notify`), by datagrams to the Unix socket in `NOTIFY_SOCKET`. Bun
 * and `node:dgram` do not support these, so the C library sends them; without one, nothing is sent.
 */
interface ServiceManager {
  /** Reports that the server accepts requests. From then on it also notifies the watchdog, if that is enabled. */
  ready(): void;
  /** Reports that the server is stopping. The watchdog is notified until the process ends. */
  stopping(): void;
}

/** Returns the service manager that started this process; one that does nothing if there is none. */
async function serviceManager(env: Environment, log: Log): Promise<ServiceManager> {
  const path = env["NOTIFY_SOCKET"];
  if (!path) return { ready() {}, stopping() {} };
  let send: (state: string) => void;
  try {
    send = datagramTo(path);
  } catch (error) {
    log.warn("service_manager_not_told", { socket: path, error: String(error) });
    return { ready() {}, stopping() {} };
  }
  return {
    ready() {
      send("READY=1");
      const everyMs = watchdogMs(env) / 3;
      // If the main thread hangs, it runs no timer, and systemd restarts the service.
      if (everyMs > 0) setInterval(() => send("WATCHDOG=1"), everyMs).unref();
    },
    stopping: () => send("STOPPING=1"),
  };
}

/** Returns the watchdog time of systemd; 0 if the watchdog is off or for another process. */
function watchdogMs(env: Environment): number {
  const isMeant = env["WATCHDOG_PID"] === undefined || env["WATCHDOG_PID"] === `${process.pid}`;
  const ms = Number(env["WATCHDOG_USEC"]) / 1000;
  return isMeant && ms > 0 ? ms : 0;
}

const [unixFamily, datagram, closeOnExec, dontWait] = [1, 2, 0o2000000, 0x40];
/** The longest `sun_path` of `sockaddr_un`, which ends with a zero byte. */
const longestPath = 107;

/** Returns a function that sends a text to a socket, without waiting. A name with `@` is abstract. Linux only. */
function datagramTo(path: string): (text: string) => void {
  const name = Buffer.from(path.replace(/^@/, "\0"));
  if (name.length > longestPath) throw new RangeError("the name of the socket is too long");
  const { socket, sendto } = library();
  const address = Buffer.concat([Buffer.from(new Uint16Array([unixFamily]).buffer), name]);
  const descriptor = socket(unixFamily, datagram | closeOnExec, 0);
  if (descriptor < 0) throw new Error("the socket cannot be created");
  return (text) => {
    const bytes = Buffer.from(text);
    sendto(descriptor, bytes, bytes.length, dontWait, address, address.length);
  };
}

const library = () =>
  cFunctions({
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "buffer", "u64", "int", "buffer", "u32"], returns: "i64" },
  });
