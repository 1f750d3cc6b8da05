import type { Command } from "./cli/command.ts";
import { ok, runCommand, wrongUsage } from "./cli/command.ts";
import { version } from "./version.ts";

/** Loaded one by one: what the others need would take the start of a server 5 ms. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./cli/serve.ts")).serve,
  dev: async () => (await import("./cli/dev.ts")).dev,
  import: async () => (await import("./cli/import.ts")).importCommand,
  export: async () => (await import("./cli/export.ts")).exportCommand,
  apps: async () => (await import("./cli/apps.ts")).apps,
  tokens: async () => (await import("./cli/tokens.ts")).tokens,
  "admin-key": async () => (await import("./cli/admin-key.ts")).adminKey,
  listen: async () => (await import("./cli/listen.ts")).listen,
  events: async () => (await import("./cli/events.ts")).events,
  deliveries: async () => (await import("./cli/deliveries.ts")).deliveries,
  backup: async () => (await import("./cli/backup.ts")).backup,
  restore: async () => (await import("./cli/restore.ts")).restore,
  migrate: async () => (await import("./cli/migrate.ts")).migrate,
  doctor: async () => (await import("./cli/doctor.ts")).doctor,
  openapi: async () => (await import("./cli/openapi.ts")).openapi,
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
  return runCommand(name, await load(), args, process.env);
}

process.exitCode = await main(process.argv.slice(2));
process.exit();
