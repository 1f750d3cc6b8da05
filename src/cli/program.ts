import { versionWithCommit } from "../runtime/version.ts";
import { didYouMean } from "../server/settings/command-line.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { ok, runCommand, wrongUsage } from "./command.ts";
import { commands } from "./commands.ts";

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
  const isAsked = isHelp(name);
  const [word, ...more] = isAsked ? args : [name];
  if (word === undefined || isHelp(word)) {
    process.stdout.write(await overview());
    return ok;
  }
  const topic = word === "--version" ? "version" : word;
  const load = Object.hasOwn(commands, topic) ? commands[topic] : undefined;
  if (load && more.length === 0) return runCommand(topic, await load(), isAsked ? ["--help"] : args, env);
  const problem = load
    ? `"${more[0]}" is not expected here.`
    : `there is no command "${topic}".${didYouMean(topic, [...Object.keys(commands), "help"])}`;
  const { note } = await import("./output/print.ts");
  note(`onair: ${problem}\n\nonair help lists all commands.`);
  return wrongUsage;
}
