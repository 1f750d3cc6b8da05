import { versionWithCommit } from "../runtime/version.ts";
import { didYouMean } from "../server/settings/command-line.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { type Commands, ok, runCommand, wrongUsage } from "./command.ts";

/** The commands. Each is loaded on demand, so that the server does not load the others at its start. */
export const commands: Commands = {
  serve: async () => (await import("./serve.ts")).serve,
  dev: async () => (await import("./dev.ts")).dev,
  import: async () => (await import("./import.ts")).importCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  apps: async () => (await import("./apps.ts")).apps,
  tokens: async () => (await import("./tokens.ts")).tokens,
  "admin-key": async () => (await import("./admin-key.ts")).adminKey,
  audit: async () => (await import("./audit.ts")).audit,
  login: async () => (await import("./login.ts")).login,
  logout: async () => (await import("./login.ts")).logout,
  token: async () => (await import("./login.ts")).token,
  app: async () => (await import("./app.ts")).app,
  api: async () => (await import("./api.ts")).api,
  subscriptions: async () => (await import("./subscriptions.ts")).subscriptions,
  test: async () => (await import("./test.ts")).testCommand,
  listen: async () => (await import("./listen.ts")).listen,
  events: async () => (await import("./events.ts")).events,
  trigger: async () => (await import("./trigger.ts")).trigger,
  deliveries: async () => (await import("./deliveries.ts")).deliveries,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./restore.ts")).restore,
  migrate: async () => (await import("./migrate.ts")).migrate,
  doctor: async () => (await import("./doctor.ts")).doctor,
  copy: async () => (await import("./copy.ts")).copy,
  config: async () => (await import("./config.ts")).configCommand,
  completion: async () => (await import("./completion.ts")).completionOf(commands),
  openapi: async () => (await import("./openapi.ts")).openapi,
  version: async () => (await import("./version.ts")).versionCommand,
};

async function overview(): Promise<string> {
  const lines = Object.entries(commands).map(async ([name, load]) => {
    return `  ${name.padEnd(13)} ${(await load()).summary}`;
  });
  return `onair ${versionWithCommit}: the public API of a live-streaming platform

Usage: onair <command> [options]

${(await Promise.all(lines)).join("\n")}
  help          show the help of a command, like its --help

onair <command> --help shows all options of a command.
`;
}

const isHelp = (word: string) => ["--help", "-h", "help"].includes(word);

/** Runs the program with these arguments, and returns the exit code. */
export async function runProgram([name, ...args]: readonly string[], env: Environment): Promise<number> {
  if (name === undefined) {
    process.stderr.write(await overview());
    return wrongUsage;
  }
  const isHelpWord = isHelp(name);
  const [word, ...more] = isHelpWord ? args : [name];
  if (word === undefined || isHelp(word)) {
    process.stdout.write(await overview());
    return ok;
  }
  const topic = word === "--version" ? "version" : word;
  const load = Object.hasOwn(commands, topic) ? commands[topic] : undefined;
  if (load && more.length === 0) return runCommand(topic, await load(), isHelpWord ? ["--help"] : args, env);
  const isBeforeCommand = name.startsWith("-") && args.some((arg) => Object.hasOwn(commands, arg));
  const problem = load
    ? `"${more[0]}" is not expected here.`
    : isBeforeCommand
      ? "Options come after the command, as in: onair app show --profile dev"
      : `There is no command "${topic}".${didYouMean(topic, [...Object.keys(commands), "help"])}`;
  const { note } = await import("./output/print.ts");
  note(`onair: ${problem}\n\nonair help lists all commands.`);
  return wrongUsage;
}
