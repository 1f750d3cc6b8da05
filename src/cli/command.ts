import type { ParseArgsOptionsConfig } from "node:util";
import { ConfigError, type Environment } from "../config/read-config.ts";
import { StoreError } from "../store/faults.ts";

/** Exit codes. */
export const ok = 0;
export const failed = 1;
export const wrongUsage = 2;
/** A shell's exit code for a program that wrote to a closed pipe, such as that to `head`. */
const outputClosed = 141;

/** Words that the shell can complete; a function reads them from this machine. */
export type Candidates = readonly string[] | ((env: Environment) => readonly string[]);

/** What the words of a command can be, besides its options. */
interface Words {
  /** The first word: the action, or what the command is about. */
  readonly first?: Candidates;
  /** The words after this action. */
  readonly next?: Readonly<Record<string, Candidates>>;
  /** The values of options. */
  readonly values?: Readonly<Record<string, Candidates>>;
}

/** A subcommand of the executable. */
export interface Command {
  /** A short description for the list of commands. */
  readonly summary: string;
  /** The output of `--help`. */
  readonly help: string;
  readonly options: ParseArgsOptionsConfig;
  readonly words?: Words;
  /** Returns the exit code; throws `UsageError` or `ConfigError` for wrong usage, anything else for a failure. */
  run(args: readonly string[], env: Environment): Promise<number>;
}

/** An invalid command line; the message states the problem. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Runs a command or prints its help, and returns the exit code; errors go to standard error. */
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
    // Imported here to keep it out of the server's start.
    const { describeError } = await import("./client/faults.ts");
    process.stderr.write(`onair: ${describeError(error)}\n`);
    return error instanceof StoreError && error.isMisuse ? wrongUsage : failed;
  }
}
