import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { type DevCredentials, openCredentials } from "../dev/credentials.ts";
import { faultPlan } from "../dev/faults.ts";
import { type DevFacts, type DevPlatform, startDevPlatform } from "../dev/platform.ts";
import { firstFree, withAlternatives } from "../dev/ports.ts";
import { messageOf } from "../domain/errors.ts";
import { isLoopback } from "../operations/checks/requests.ts";
import { type Log, type LogLevel, loggingErrors, logLevels, type RequestLine } from "../runtime/log.ts";
import { clockTime, heldBack, printable, type Terminal, terminalOn } from "../runtime/terminal.ts";
import { versionWithCommit } from "../runtime/version.ts";
import type { Config } from "../server/settings/config.ts";
import { type CheckedConfig, checkConfig, type Environment, sound } from "../server/settings/read-config.ts";
import { settingOptions, settingsHelp, unknownVariables } from "../server/settings/shown-settings.ts";
import { readNumber, switches, valued } from "./arguments.ts";
import { devProfile, guideProfile, type Profile, Profiles } from "./calls/profiles.ts";
import { type Command, onSignals, onTermination, UsageError } from "./command.ts";

const defaults = { data: ".onair", allowPrivateWebhooks: "true", portal: "true" } as const;
const ownOptions = {
  ...switches("json", "no-events", "faults"),
  ...valued("seed", "receiver-port", "sign-in-port"),
} as const;
const defaultPorts = { port: 8080, adminPort: 8081 } as const;

export const dev: Command = {
  summary: "run a platform to develop against, with sample data",
  get options() {
    return settingOptions(ownOptions);
  },
  values: { "log-level": logLevels },
  get help() {
    return `Usage: onair dev [options]

Runs a complete platform to develop against: invented users, categories and livestreams that change,
an application with a token, events from time to time, and a receiver that verifies and prints each
webhook. All data is kept in the data directory; delete the directory to start over. Not for
production: use "onair serve".

  --json                     print addresses and credentials as one line of JSON, not the welcome;
                             requests and deliveries are printed on standard error
  --receiver-port PORT       port of the receiver (default: 8082, or a free one)
  --sign-in-port PORT        port of the login page and the sample application (default: 8083, or a
                             free one)
  --no-events                publish no invented events; viewer counts still change
  --faults                   simulate a bad day, to test how a bot handles it: 429 and 503, slow
                             answers, revoked tokens, interrupted streams, and webhooks that arrive
                             late, twice or out of order. Each fault is printed
  --seed N                   for --faults: repeats the faults of this number (default: a new number)

It stores two profiles for the other commands: "dev", of the Dev app, which they use unless there is
a profile "default", and "guide", of an application that has no webhook URL and no subscriptions.
Commands for operators, such as "onair apps", use this platform where no server and no data is named
and there is no directory onair-data.

Options override environment variables, which override the file .env in the working directory. If
an option is given twice, the last one counts.

${settingsHelp({ ...defaults })}
`;
  },
  async run(args: readonly string[], processEnv: Environment) {
    const env = { ...dotEnv(process.cwd()), ...processEnv };
    const { config, flags, notes } = freePorts(args, env);
    if (config.logFile !== null)
      throw new UsageError("onair dev writes its log to the terminal; --log-file is for onair serve");
    if (config.logFormat !== "auto")
      throw new UsageError("onair dev writes its log for people; --log-format is for onair serve");
    const seed = readSeed(flags, config);
    const ports = readPorts(flags);
    // SIGHUP means that the terminal was closed.
    const terminated = Promise.race([onTermination(["SIGTERM", "SIGINT", "SIGHUP"]), npmEnd(processEnv)]);
    onSignals(["SIGUSR1", "SIGUSR2"], () => {});
    // The platform keeps running when standard output is closed by its reader.
    process.stdout.on("error", () => {});
    // With JSON, nothing else is on standard output.
    const output = heldBack(flags["json"] ? process.stderr : process.stdout);
    const terminal = terminalOn(output, env);
    const now = Date.now;
    const credentials = openCredentials(config.data);
    let platform: DevPlatform | null = null;
    // Deliveries from the last run are sent during the start, before the platform can report which ones were printed.
    const isPrinted = (deliveryId: string) => platform?.hasArrived(deliveryId) ?? true;
    const log = devLog({ terminal, level: config.logLevel, now, isPrinted });
    for (const unknown of unknownVariables(env)) log.warn("unknown_setting", unknown);
    const events = !flags["no-events"];
    const faults = seed === null ? null : faultPlan(seed);
    if (seed !== null)
      notes.push(`Faults are simulated with the seed ${seed}: --faults --seed ${seed} repeats them.`);
    const options = { config, credentials, events, terminal, log, now, random: Math.random, ports, faults };
    platform = await startDevPlatform(options).catch((error) => {
      output.release();
      throw error;
    });
    const facts = await platform.facts();
    // A key that the developer has set is not written to another file.
    const admin =
      config.adminKey === null ? { url: facts.admin_url, key: facts.secrets.admin_key } : undefined;
    const { stored, notes: ofProfiles } = storeProfiles(new Profiles(env), facts, credentials, admin);
    notes.push(...ofProfiles);
    process.stdout.write(
      flags["json"]
        ? `${JSON.stringify(machineReadable(config.data, facts, credentials))}\n`
        : banner({ facts, isNew: platform.isNew }, config, { notes, stored }, terminal),
    );
    output.release();
    await terminated;
    await platform.stop();
    if (process.stdout.isTTY) terminal.print(`\nStopped. The next start continues with ${config.data}.\n`);
    return 0;
  },
};

const highestPort = 65_535;

function readPorts(flags: CheckedConfig["flags"]) {
  const mistakes: string[] = [];
  const [receiver = null, signIn = null] = (["receiver-port", "sign-in-port"] as const).map((name) => {
    const text = flags[name];
    const port = readNumber(name, typeof text === "string" ? text : undefined, mistakes) ?? null;
    if (port !== null && port > highestPort)
      mistakes.push(`--${name} must be a port, at most ${highestPort}`);
    return port;
  });
  if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
  return { receiver, signIn };
}

/**
 * Stores the profiles of the two applications. Keeps a profile of the same name that belongs to a platform elsewhere.
 * Returns the names of the stored ones, and notes about the others and about stored ones that were of another server.
 */
function storeProfiles(
  profiles: Profiles,
  { public_url: url, secrets }: DevFacts,
  { guide_id, guide_secret }: DevCredentials,
  admin: Profile["admin"],
): { readonly stored: string[]; readonly notes: string[] } {
  const wanted = {
    [devProfile]: {
      url,
      clientId: secrets.client_id,
      clientSecret: secrets.client_secret,
      ...(admin && { admin }),
    },
    [guideProfile]: { url, clientId: guide_id, clientSecret: guide_secret },
  };
  const stored: string[] = [];
  const moved = new Map<string, string[]>();
  const notes: string[] = [];
  for (const [name, profile] of Object.entries(wanted)) {
    try {
      const before = profiles.find(name);
      if (before && !isLoopback(new URL(before.url).hostname))
        notes.push(`The profile "${name}" is for ${before.url} and stays as it is.`);
      else {
        profiles.replace(name, profile);
        stored.push(name);
        if (before && before.url !== url) moved.set(before.url, [...(moved.get(before.url) ?? []), name]);
      }
    } catch (error) {
      // Without a home directory there are no profiles.
      if (!(error instanceof UsageError))
        notes.push(`The profile "${name}" is not stored: ${messageOf(error)}.`);
    }
  }
  for (const [former, names] of moved)
    notes.push(`Profiles that now name this server: ${names.join(", ")} (before: ${former}).`);
  return { stored, notes };
}

const seeds = 1_000_000;

/** Returns the seed of the injected faults; null without `--faults`. */
function readSeed({ faults, seed }: CheckedConfig["flags"], { webhookProxy }: Config): number | null {
  const mistakes: string[] = [];
  const number = readNumber("seed", typeof seed === "string" ? seed : undefined, mistakes);
  if (!faults && seed !== undefined) mistakes.push("--seed needs --faults");
  if (faults && webhookProxy !== null) mistakes.push("--faults and --webhook-proxy exclude each other");
  if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
  return faults ? (number ?? Math.floor(Math.random() * seeds)) : null;
}

/** Reads the variables of the file `.env` in a directory; none when there is no such file. */
function dotEnv(directory: string): Environment {
  try {
    return parseEnv(readFileSync(join(directory, ".env"), "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
}

/** Reads the settings. Replaces a default port that is in use by a free one, with a note. */
function freePorts(args: readonly string[], env: Environment) {
  const { config: wanted, flags } = sound(checkConfig(args, env, defaults, ownOptions));
  const chosen = (host: string, port: number, usual: number, other: number) =>
    port === usual
      ? firstFree(
          host,
          withAlternatives(port).filter((one) => one !== other),
        )
      : port;
  const port = chosen(wanted.host, wanted.port, defaultPorts.port, wanted.adminPort);
  const adminPort = chosen(wanted.adminHost, wanted.adminPort, defaultPorts.adminPort, port);
  const ports = { port: `${port}`, adminPort: `${adminPort}` };
  const { config } = sound(checkConfig(args, env, { ...defaults, ...ports }, ownOptions));
  const notes = (["port", "adminPort"] as const)
    .filter((name) => config[name] !== wanted[name])
    .map((name) => {
      const what = name === "port" ? "API" : "admin API";
      return `Port ${wanted[name]} is in use; the ${what} uses ${config[name] === 0 ? "a free port" : config[name]}.`;
    });
  return { config, flags, notes };
}

function machineReadable(data: string, facts: DevFacts, { guide_id, guide_secret }: DevCredentials) {
  const { public_url, admin_url, receiver_url, sign_in_url, secrets } = facts;
  const docs_url = `${public_url}/docs`;
  const guide = { client_id: guide_id, client_secret: guide_secret };
  const addresses = { public_url, admin_url, docs_url, receiver_url, sign_in_url };
  return { ...addresses, data: resolve(data), ...secrets, guide };
}

const lookEveryMs = 500;

/**
 * Resolves when the process that npm started, or npm itself, has ended. npm and its shell end at a signal and do not
 * forward it. Never resolves when npm did not start this process.
 */
export function npmEnd({ npm_command }: Environment): Promise<"npm ended"> {
  const { promise, resolve } = Promise.withResolvers<"npm ended">();
  if (npm_command === undefined) return promise;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    resolve("npm ended");
  }, lookEveryMs);
  timer.unref();
  return promise;
}

/** Returns the parent process. If npm started the parent, as with `bun run`, adds the grandparent from `/proc`. */
function ancestors(): string {
  const parent = process.ppid;
  const parentFile = (name: string) => readFileSync(`/proc/${parent}/${name}`, "latin1");
  try {
    // A parent without this variable is npm itself. The parent of npm is a shell, which may end earlier.
    if (!/(^|\0)npm_command=/.test(parentFile("environ"))) return String(parent);
    // The file has the name, which may contain spaces, then the state and the parent.
    const [, grandparent] = parentFile("stat").split(") ").at(-1)?.split(" ") ?? [];
    return `${parent} ${grandparent}`;
  } catch {
    return String(parent);
  }
}

/**
 * Returns the welcome text, which fits 80 by 24 characters. Each curl command is one line, so that it can be copied.
 * `notes` come first, for example that a port was taken. `stored` are the names of the stored profiles.
 */
function banner(
  { facts, isNew }: { readonly facts: DevFacts } & Pick<DevPlatform, "isNew">,
  { data, adminKey }: Pick<Config, "data" | "adminKey">,
  { notes, stored }: { readonly notes: readonly string[]; readonly stored: readonly string[] },
  { style }: Pick<Terminal, "style">,
): string {
  const { public_url, admin_url, receiver_url, webhook_url, sign_in_url, query, users, secrets } = facts;
  const isOwn = webhook_url === receiver_url;
  const heading = (text: string) => style("bold", text);
  const row = (name: string, value: string, remark = "") =>
    `  ${name.padEnd(14)} ${style("cyan", value)}${remark && ` ${style("dim", remark)}`}`;
  const authorization = `-H 'Authorization: Bearer ${secrets.access_token}'`;
  const usage = `(as in: onair app show --profile ${stored.at(-1)})`;
  const profiles = stored.length > 0 ? [row("profiles", stored.join(", "), usage)] : [];
  const found = isNew ? "new sample data" : "the data of the last run";
  return `${[
    heading(`On Air ${versionWithCommit} is running, with ${found} in ${data}`),
    ...notes.map((note) => style("yellow", `  ${note}`)),
    row("API", public_url, "(open it in a browser; documentation: /docs)"),
    row("admin API", admin_url, "(open it for the console)"),
    row("operator key", adminKey === null ? secrets.admin_key : "as set by ONAIR_ADMIN_KEY"),
    "",
    heading("Dev app, with the scopes users:read and events:subscribe"),
    row("client_id", secrets.client_id),
    row("client_secret", secrets.client_secret),
    row("access token", secrets.access_token),
    row("webhook URL", webhook_url ?? "none", isOwn ? "(prints what arrives)" : "(as it was set)"),
    row("webhook secret", secrets.webhook_secret),
    row("sign in", sign_in_url, "(a user's token, in the browser)"),
    ...profiles,
    "",
    heading("Try it in another terminal"),
    `curl '${public_url}/public/v1/users/${users[0]?.username}' ${authorization}`,
    `curl '${public_url}/public/v1/users/search?query=${query}' ${authorization}`,
    `curl '${public_url}/public/v1/categories?limit=3'`,
    "",
    heading(`Ctrl-C stops it. To start over, stop it and delete ${data}`),
  ].join("\n")}\n`;
}

interface DevLogOptions {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  readonly now: () => number;
  /** Whether the receiver has printed a delivery. The log leaves out printed deliveries. */
  readonly isPrinted: (deliveryId: string) => boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Events whose facts are in the banner. */
const inBanner = new Set(["operator_keys"]);

/** Makes a log for developers: one line for each request and delivery, cut to the terminal, and complete errors. */
export function devLog({ terminal, level, now, isPrinted }: DevLogOptions): Log {
  const least = logLevels.indexOf(level);
  const shows = (one: LogLevel) => logLevels.indexOf(one) >= least;
  const { style } = terminal;
  const timed = (text: string) => `${style("dim", clockTime(now()))} ${text}`;

  const request = ({ method, path, status, durationMs }: RequestLine) => {
    const colour = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
    const took = style("dim", `(${durationMs.toFixed(1)} ms)`);
    terminal.line(timed(`${style(colour, String(status).padEnd(8))} ${method} ${printable(path)} ${took}`));
  };

  const delivery = (fields: Fields) => {
    const { delivery_id, application_id, type, outcome, status, duration_ms, error, decision } = fields;
    const delivered = outcome === "ok";
    if (delivered && isPrinted(String(delivery_id))) return;
    const to = `${style("cyan", printable(String(type)))} to ${application_id}`;
    if (delivered) terminal.line(timed(`${style("green", "sent    ")} ${to}: ${status} (${duration_ms} ms)`));
    else
      terminal.print(
        `${timed(`${style("red", "failed  ")} ${to}: ${printable(String(error))} Next: ${decision}.`)}\n`,
      );
  };

  const other = (one: "debug" | "info" | "warn" | "error", event: string, fields: Fields) => {
    const { stack, ...rest } = fields;
    const colour = one === "error" ? "red" : one === "warn" ? "yellow" : "dim";
    const pairs = Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${printable(String(value))}`);
    const text = `${event} ${pairs.join(" ")}`;
    terminal.print(`${timed(`${style(colour, one.padEnd(8))} ${text}`)}\n`);
    if (typeof stack === "string") terminal.print(`${style("dim", stack)}\n`);
  };

  const at = (one: "debug" | "info" | "warn" | "error") => {
    if (!shows(one)) return () => {};
    return (event: string, fields: Fields = {}) => {
      if (inBanner.has(event)) return;
      if (event === "delivery" && one === "info") delivery(fields);
      else other(one, event, fields);
    };
  };
  const warn = at("warn");
  const { flushRepeated, ...errorMethods } = loggingErrors({ warn, error: at("error"), now });
  return {
    replica: null,
    debug: at("debug"),
    info: at("info"),
    warn,
    ...errorMethods,
    request: shows("info") ? request : () => {},
    raw() {},
    flush: async () => flushRepeated(),
    linesLeftOut: 0,
  };
}
