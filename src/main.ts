import type { Command } from "./cli/command.ts";
import { UsageError } from "./cli/command.ts";
import { ConfigError } from "./config.ts";
import { version } from "./version.ts";

/** Loaded one by one: what the others need would take the start of a server 5 ms. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./cli/serve.ts")).serve,
  dev: async () => (await import("./cli/dev.ts")).dev,
  import: async () => (await import("./cli/import.ts")).importCommand,
  export: async () => (await import("./cli/export.ts")).exportCommand,
  apps: async () => (await import("./cli/apps.ts")).apps,
  tokens: async () => (await import("./cli/tokens.ts")).tokens,
  listen: async () => (await import("./cli/listen.ts")).listen,
  events: async () => (await import("./cli/events.ts")).events,
  deliveries: async () => (await import("./cli/deliveries.ts")).deliveries,
  backup: async () => (await import("./cli/backup.ts")).backup,
  restore: async () => (await import("./cli/restore.ts")).restore,
};

async function overview(): Promise<string> {
  const lines = Object.entries(commands).map(async ([name, load]) => {
    return `  ${name.padEnd(10)} ${(await load()).summary}`;
  });
  return `onair ${version}: the public API of a live-streaming platform

Usage: onair <command> [options]

${(await Promise.all(lines)).join("\n")}
  version    print the version

onair <command> --help explains a command.
`;
}

const ok = 0;
const failed = 1;
const wrongUsage = 2;

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "version" || name === "--version") {
    process.stdout.write(`onair ${version}\n`);
    return ok;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process[name === undefined ? "stderr" : "stdout"].write(await overview());
    return name === undefined ? wrongUsage : ok;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!load) {
    process.stderr.write(`onair: there is no command "${name}"\n\n${await overview()}`);
    return wrongUsage;
  }
  const command = await load();
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
