import { ConfigError, type Environment } from "../config.ts";

/** Exit codes. */
export const ok = 0;
export const failed = 1;
export const wrongUsage = 2;
/** That of a shell for a program that wrote to a reader that has gone, as to `head` when it has enough. */
const outputClosed = 141;

/** A subcommand of the executable. */
export interface Command {
  /** A few words for the list of commands. */
  readonly summary: string;
  /** What `--help` prints. */
  readonly help: string;
  /** Returns the exit code; throws `UsageError` or `ConfigError` for wrong usage, anything else for a failure. */
  run(args: readonly string[], env: Environment): Promise<number>;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Runs a command, or prints its help, and gives the exit code; what goes wrong is told on standard error. */
export async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(command.help);
    return ok;
  }
  try {
    return await command.run(args, env);
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError) {
      process.stderr.write(`${error.message}\n\nonair ${name} --help shows all options.\n`);
      return wrongUsage;
    }
    if (error instanceof Error && error.name === "OutputClosed") return outputClosed;
    // Not at the top: no start of a server waits for what only failures need.
    const { inWords } = await import("./client/faults.ts");
    process.stderr.write(`onair: ${inWords(error)}\n`);
    return failed;
  }
}
