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

/** What may follow a command, or one of its actions. */
export interface Words<Option extends string = string> {
  /** The options that are for this action, and not for those that do not name them. */
  readonly options?: readonly Option[];
  /** A word that must follow, as a sentence names it, such as "the id of the key". */
  readonly needs?: string;
  /** How many words may follow, when it is neither none nor the one that is needed. */
  readonly most?: number;
  /** What such a word can be. */
  readonly candidates?: Candidates;
}

/** A subcommand of the executable. */
export interface Command {
  /** A short description for the list of commands. */
  readonly summary: string;
  /** The output of `--help`. */
  readonly help: string;
  readonly options: ParseArgsOptionsConfig;
  /** What the first word can be. */
  readonly actions?: Readonly<Record<string, Words>>;
  /** What the first word can be of a command without actions. */
  readonly candidates?: Candidates;
  /** What the values of options can be. */
  readonly values?: Readonly<Record<string, Candidates>>;
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
    // Imported here to keep it out of the server's start.
    const { note } = await import("./output/print.ts");
    if (error instanceof UsageError || error instanceof ConfigError) {
      note(`${error.message}\n\nonair ${name} --help shows all options.`);
      return wrongUsage;
    }
    if (error instanceof Error && error.name === "OutputClosed") return outputClosed;
    const { describeError } = await import("./client/faults.ts");
    note(`onair: ${describeError(error)}`);
    return error instanceof StoreError && error.isMisuse ? wrongUsage : failed;
  }
}
