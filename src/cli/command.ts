import type { Environment } from "../config.ts";

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
