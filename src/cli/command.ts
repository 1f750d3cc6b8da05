import type { ParseArgsOptionsConfig } from "node:util";
import { StoreError } from "../domain/store.ts";
import { ConfigError, type Environment } from "../server/settings/read-config.ts";

/** The exit code of success. */
export const ok = 0;
export const failed = 1;
export const wrongUsage = 2;
/** The exit code that shells give for a program stopped by Ctrl-C. */
export const stoppedByUser = 130;
/** The exit code that shells give for a write to a closed pipe, as with `| head`. */
const outputClosed = 141;

/** Words for shell completion; a function reads them from this machine. */
export type Candidates = readonly string[] | ((env: Environment) => readonly string[]);

/** The words and options that may follow a command or an action. */
export interface Words<Option extends string = string> {
  /** Options of this action; actions that do not list them refuse them. */
  readonly options?: readonly Option[];
  /** The name of the required word in error messages, such as "the id of the key". */
  readonly needs?: string;
  /** The maximum number of words; by default 1 if `needs` is set, else 0. */
  readonly most?: number;
  /** Completions of the words. */
  readonly candidates?: Candidates;
}

/** A subcommand of the executable. */
export interface Command {
  /** A short description for the list of commands. */
  readonly summary: string;
  /** The output of `--help`. */
  readonly help: string;
  readonly options: ParseArgsOptionsConfig;
  /** The possible first words. */
  readonly actions?: Readonly<Record<string, Words>>;
  /** Completions of the first word of a command without actions. */
  readonly candidates?: Candidates;
  /** Completions of option values, by option. */
  readonly values?: Readonly<Record<string, Candidates>>;
  /** Returns the exit code; throws `UsageError` or `ConfigError` for wrong usage, anything else for a failure. */
  run(args: readonly string[], env: Environment): Promise<number>;
}

/** All commands by name, each loaded on demand. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

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
    // This import is on demand, to keep it out of the server's start.
    const { note } = await import("./output/print.ts");
    if (error instanceof UsageError || error instanceof ConfigError) {
      note(`${error.message}\n\nonair ${name} --help shows all options.`);
      return wrongUsage;
    }
    if (error instanceof Error && error.name === "OutputClosed") return outputClosed;
    const { describeError } = await import("./calls/http.ts");
    const reason = describeError(error);
    const { ownerInForce } = await import("../store/sqlite/directory.ts");
    const owner = /EACCES|EPERM|denied|may not be/.test(reason) ? ownerInForce() : null;
    note(`onair: ${reason}${owner === null ? "" : `\n${owner}`}`);
    return error instanceof StoreError && error.isMisuse ? wrongUsage : failed;
  }
}

/** A signal that ends the process. */
type Termination = "SIGTERM" | "SIGINT" | "SIGHUP";

/**
 * The time in which signals count as one: `bun run` and npx forward the signal that the terminal or the system also
 * sends, and runners of several programs send SIGTERM after Ctrl-C.
 */
const sameStopMs = 500;

/**
 * Resolves at the first of `signals`. A later one ends the process. SIGHUP is counted apart from SIGTERM and SIGINT: a
 * terminal may also send it when it closes.
 */
export function onTermination(
  signals: readonly Termination[] = ["SIGTERM", "SIGINT"],
  now: () => number = performance.now.bind(performance),
): Promise<Termination> {
  return new Promise((resolve) => {
    const firstAt = new Map<"stop" | "hangup", number>();
    for (const signal of signals) {
      const kind = signal === "SIGHUP" ? "hangup" : "stop";
      process.on(signal, () => {
        const at = firstAt.get(kind);
        if (at === undefined) {
          firstAt.set(kind, now());
          resolve(signal);
        } else if (now() - at > sameStopMs) {
          process.exit(1);
        }
      });
    }
  });
}

/**
 * Returns a signal for commands that run until stopped: aborted at SIGTERM and SIGINT, and when standard output is
 * closed.
 */
export function untilEnded(): AbortSignal {
  const stop = new AbortController();
  void onTermination().then(() => stop.abort());
  process.stdout.on("error", () => stop.abort());
  return stop.signal;
}

/** Calls `then` at each of `signals`, which would otherwise end the process. */
export function onSignals(
  signals: readonly ("SIGHUP" | "SIGUSR1" | "SIGUSR2")[],
  then: (signal: string) => void,
): void {
  for (const signal of signals) process.on(signal, () => then(signal));
}
