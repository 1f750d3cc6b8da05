import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { Config } from "../config/config.ts";
import { type CheckedConfig, checkConfig, type Environment, sound } from "../config/read-config.ts";
import { settingOptions, settingsHelp, unknownVariables } from "../config/setting-names.ts";
import { abandonedByNpm } from "../dev/abandoned.ts";
import { banner } from "../dev/banner.ts";
import { openCredentials } from "../dev/credentials.ts";
import { faultPlan } from "../dev/faults/plan.ts";
import { devLog } from "../dev/log.ts";
import { type DevFacts, type DevPlatform, startDevPlatform } from "../dev/platform.ts";
import { firstFree, withAlternatives } from "../dev/ports.ts";
import { heldBack, terminalOn } from "../dev/terminal.ts";
import { logLevels } from "../log/log.ts";
import { readNumber, switches, valued } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { onSignals, onTermination } from "./signals.ts";

const defaults = { data: ".onair", allowPrivateWebhooks: "true", portal: "true" } as const;
const ownOptions = { ...switches("json", "no-events", "faults"), ...valued("seed") } as const;
const defaultPorts = { port: 8080, adminPort: 8081 } as const;

export const dev: Command = {
  summary: "run a platform to develop against, with sample data",
  get options() {
    return settingOptions(ownOptions);
  },
  values: { "log-level": logLevels },
  get help() {
    return `Usage: onair dev [options]

Runs a whole platform to develop against: made-up users, categories and livestreams that change,
an application with a token, events now and then, and a receiver that verifies each webhook and
prints it. All of it is kept in the data directory; delete that to begin anew. Not for production:
that is "onair serve".

  --json                     one line of JSON with addresses and credentials, not the welcome
  --no-events                make up no events; viewer counts still move
  --faults                   the platform on a bad day, so that a bot can be made ready for one: 429
                             and 503, slow answers, revoked tokens, streams that are cut off, and
                             webhooks that come late, twice or out of order. Each is printed
  --seed N                   for --faults: the faults of that number again (default: a new one)

Options win over environment variables, and those over the file .env in the working directory. Of
an option that is given twice the last one counts.

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
    // SIGHUP: the terminal was closed.
    const terminated = Promise.race([
      onTermination(["SIGTERM", "SIGINT", "SIGHUP"]),
      abandonedByNpm(processEnv),
    ]);
    onSignals(["SIGUSR1", "SIGUSR2"], () => {});
    // The platform keeps running when the reader of standard output has closed it.
    process.stdout.on("error", () => {});
    const output = heldBack(process.stdout);
    const terminal = terminalOn(output, env);
    const now = Date.now;
    const credentials = openCredentials(config.data);
    let platform: DevPlatform | null = null;
    // What was pending is sent while the platform starts, when its receiver cannot be asked yet: it is not printed twice.
    const isPrinted = (deliveryId: string) => platform?.hasArrived(deliveryId) ?? true;
    const log = devLog({ terminal, level: config.logLevel, now, isPrinted });
    for (const unknown of unknownVariables(env)) log.warn("unknown_setting", unknown);
    const events = !flags["no-events"];
    const faults = seed === null ? null : faultPlan(seed);
    if (seed !== null)
      notes.push(`A bad day, by the seed ${seed}: --faults --seed ${seed} is the same again.`);
    const options = { config, credentials, events, terminal, log, now, random: Math.random, faults };
    platform = await startDevPlatform(options).catch((error) => {
      output.release();
      throw error;
    });
    const facts = await platform.facts();
    process.stdout.write(
      flags["json"]
        ? `${JSON.stringify(machineReadable(config.data, facts))}\n`
        : banner({ facts, isNew: platform.isNew }, config, notes, terminal),
    );
    output.release();
    await terminated;
    await platform.stop();
    if (process.stdout.isTTY) terminal.print(`\nStopped. The next start goes on with ${config.data}.\n`);
    return 0;
  },
};

const seeds = 1_000_000;

/** The seed of the faults; null where none are asked for. */
function readSeed({ faults, seed }: CheckedConfig["flags"], { webhookProxy }: Config): number | null {
  const mistakes: string[] = [];
  const number = readNumber("seed", typeof seed === "string" ? seed : undefined, mistakes);
  if (!faults && seed !== undefined) mistakes.push("--seed is for --faults");
  if (faults && webhookProxy !== null) mistakes.push("--faults and --webhook-proxy exclude each other");
  if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
  return faults ? (number ?? Math.floor(Math.random() * seeds)) : null;
}

/** The variables of the file `.env` in a directory; none where there is no such file. */
function dotEnv(directory: string): Environment {
  try {
    return parseEnv(readFileSync(join(directory, ".env"), "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
}

/** The settings. A default port that is taken is replaced by a free one, with a note; a requested port is not. */
function freePorts(args: readonly string[], env: Environment) {
  const { config: asked, flags } = sound(checkConfig(args, env, defaults, ownOptions));
  const chosen = (host: string, port: number, usual: number, other: number) =>
    port === usual
      ? firstFree(
          host,
          withAlternatives(port).filter((one) => one !== other),
        )
      : port;
  const port = chosen(asked.host, asked.port, defaultPorts.port, asked.adminPort);
  const adminPort = chosen(asked.adminHost, asked.adminPort, defaultPorts.adminPort, port);
  const ports = { port: `${port}`, adminPort: `${adminPort}` };
  const { config } = sound(checkConfig(args, env, { ...defaults, ...ports }, ownOptions));
  const notes = (["port", "adminPort"] as const)
    .filter((name) => config[name] !== asked[name])
    .map((name) => {
      const what = name === "port" ? "API" : "admin API";
      return `Port ${asked[name]} is taken; the ${what} has ${config[name] === 0 ? "a free one" : config[name]}.`;
    });
  return { config, flags, notes };
}

function machineReadable(data: string, facts: DevFacts) {
  const { public_url, admin_url, receiver_url, sign_in_url, secrets } = facts;
  const docs_url = `${public_url}/docs`;
  return { public_url, admin_url, docs_url, receiver_url, sign_in_url, data: resolve(data), ...secrets };
}
