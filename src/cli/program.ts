import { didYouMean } from "../arguments.ts";
import type { Environment } from "../config/read-config.ts";
import { version } from "../version.ts";
import { ok, runCommand, wrongUsage } from "./command.ts";
import { commands } from "./commands.ts";

const versionSummary = "print the version; --json adds the runtime and platform";

async function overview(): Promise<string> {
  const lines = Object.entries(commands).map(async ([name, load]) => {
    return `  ${name.padEnd(13)} ${(await load()).summary}`;
  });
  return `onair ${version}: the public API of a live-streaming platform

Usage: onair <command> [options]

${(await Promise.all(lines)).join("\n")}
  version       ${versionSummary}
  help          explain a command, as its --help does

onair <command> --help explains a command.
`;
}

/** Runs the program with these words, and returns the exit code. */
export async function runProgram([name, ...args]: readonly string[], env: Environment): Promise<number> {
  if (name === undefined) {
    process.stderr.write(await overview());
    return wrongUsage;
  }
  if (name === "version" || name === "--version") return printVersion(args);
  const isHelp = ["--help", "-h", "help"].includes(name);
  const [topic, ...more] = isHelp ? args : [name];
  if (topic === undefined || ["help", "--help", "-h"].includes(topic)) {
    process.stdout.write(await overview());
    return ok;
  }
  if (topic === "version") return printVersion(["--help"]);
  const load = Object.hasOwn(commands, topic) ? commands[topic] : undefined;
  if (!load || more.length > 0) return misused(load ? (more[0] ?? "") : topic, load !== undefined);
  return runCommand(topic, await load(), isHelp ? ["--help"] : args, env);
}

function printVersion(args: readonly string[]): number {
  const [option, ...more] = args;
  if (option === undefined) process.stdout.write(`onair ${version}\n`);
  else if (option === "--json" && more.length === 0) {
    const { platform, arch } = process;
    process.stdout.write(`${JSON.stringify({ version, bun: Bun.version, platform, arch })}\n`);
  } else if (option === "--help" || option === "-h") {
    process.stdout.write(`Usage: onair version [--json]\n\n${versionSummary}\n`);
  } else return misused(option, true, didYouMean(option, ["--json", "--help"]));
  return ok;
}

/** Reports an unknown or misplaced word. */
function misused(word: string, isExtra: boolean, meant = ""): number {
  const command = didYouMean(word, [...Object.keys(commands), "version", "help"]);
  const sentence = isExtra
    ? `"${word}" is not expected here.${meant}`
    : `there is no command "${word}".${command}`;
  process.stderr.write(`onair: ${sentence}\n\nonair help lists all commands.\n`);
  return wrongUsage;
}
