import { apps } from "./cli/apps.ts";
import { backup } from "./cli/backup.ts";
import { type Command, UsageError } from "./cli/command.ts";
import { deliveries } from "./cli/deliveries.ts";
import { dev } from "./cli/dev.ts";
import { events } from "./cli/events.ts";
import { exportCommand } from "./cli/export.ts";
import { importCommand } from "./cli/import.ts";
import { listen } from "./cli/listen.ts";
import { restore } from "./cli/restore.ts";
import { serve } from "./cli/serve.ts";
import { tokens } from "./cli/tokens.ts";
import { ConfigError } from "./config.ts";
import { version } from "./version.ts";

const commands: Readonly<Record<string, Command>> = {
  serve,
  dev,
  import: importCommand,
  export: exportCommand,
  apps,
  tokens,
  listen,
  events,
  deliveries,
  backup,
  restore,
};

const overview = `onair ${version}: the public API of a live-streaming platform

Usage: onair <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join("\n")}
  version    print the version

onair <command> --help explains a command.
`;

const ok = 0;
const failed = 1;
const wrongUsage = 2;

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "version" || name === "--version") {
    process.stdout.write(`onair ${version}\n`);
    return ok;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process[name === undefined ? "stderr" : "stdout"].write(overview);
    return name === undefined ? wrongUsage : ok;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    process.stderr.write(`onair: there is no command "${name}"\n\n${overview}`);
    return wrongUsage;
  }
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(command.help);
    return ok;
  }
  try {
    return await command.run(args, process.env);
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError) {
      process.stderr.write(`${error.message}\n\nonair ${name} --help shows all options.\n`);
      return wrongUsage;
    }
    process.stderr.write(`onair: ${error instanceof Error ? error.message : String(error)}\n`);
    return failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
process.exit();
