import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type OptionSet, readOptions, type Values } from "./options.ts";
import {
  BenchError,
  benchDirectory,
  otherWork,
  type Program,
  pinThisProcess,
  requireMachine,
} from "./processes.ts";
import { type Goal, percent, verdictOf } from "./report.ts";

/** The result of a part of a benchmark. */
export interface Outcome {
  /** The text for people, usually a table. */
  readonly shown: string;
  /** The figures for programs, which may be more. */
  readonly figures: object;
  readonly goals?: readonly Goal[];
  /** Broken promises: the benchmark fails, with or without `--check`. */
  readonly problems?: readonly string[];
}

/** A running benchmark. */
export interface Bench {
  /** The parts that `--only` names; all by default. */
  readonly only: readonly string[];
  /** The measured executable; the one built from the sources if the benchmark accepts no other. */
  readonly executable: string;
  /** A temporary directory, removed when the process ends, however it ends. */
  readonly directory: string;
  /** Prints progress; nothing with `--json`. */
  say(line: string): void;
  /** Measures a part and prints it. A part that cannot be measured is reported and skipped. */
  measure(part: string, measure: () => Promise<Outcome>): Promise<void>;
}

interface Description<Options extends OptionSet> {
  /** What is measured and how; printed below the options of `--help`. */
  readonly about: string;
  readonly options?: Options;
  /** What `--only` may name. */
  readonly parts?: readonly string[];
  /** Requirements beside Linux and two cores. */
  readonly needs?: readonly Program[];
  /** True if it starts the executable, so that another one can be measured. */
  readonly ofExecutable?: boolean;
  /** True if this process is pinned to the core of the load. */
  readonly pinned?: boolean;
}

/** What of a part is printed for programs. */
interface Found extends Outcome {
  readonly name: string;
  /** The share of the machine's processor time that other programs used. */
  readonly others: number;
}

const root = resolve(import.meta.dir, "../../..");
/** A measurement is disturbed if other programs use a larger share of the machine. */
const undisturbed = 0.03;
const mostProblemsShown = 20;

/**
 * Runs a benchmark and ends the process. The exit code is 1 where it could not be measured or a promise is broken, and
 * with `--check` where a goal is missed. `--json` prints one line: the options, and of each part its name, the others'
 * share of the machine, its goals, problems and figures.
 */
export async function benchmark<Options extends OptionSet = Record<never, never>>(
  description: Description<Options>,
  run: (bench: Bench, options: Values<Options>) => Promise<void>,
): Promise<never> {
  const { about, options: known, parts = [], needs = [], ofExecutable = false, pinned = false } = description;
  const given = readOptions(about, known ?? ({} as Options), { parts, ofExecutable });
  const { json, check } = given;
  const found: Found[] = [];
  let failed = false;
  try {
    requireMachine(needs);
    const executable =
      given.executable ?? (ofExecutable ? await builtExecutable() : join(root, "src/main.ts"));
    if (pinned) pinThisProcess();
    await run(
      {
        only: given.only,
        executable: resolve(executable),
        directory: benchDirectory(),
        say: (line) => void (json || process.stderr.write(`${line}\n`)),
        async measure(name, measure) {
          const others = otherWork();
          try {
            const one = { name, ...(await measure()), others: others() };
            found.push(one);
            if (!json) process.stdout.write(`${describe(one)}\n\n`);
          } catch (error) {
            if (!(error instanceof BenchError)) throw error;
            failed = true;
            process.stderr.write(`${name} failed: ${error.message}\n`);
          }
        },
      },
      given.values,
    );
  } catch (error) {
    failed = true;
    process.stderr.write(`${error instanceof BenchError ? error.message : Bun.inspect(error)}\n`);
  }
  if (json) {
    const bench = basename(process.argv[1] ?? "", ".ts");
    const results = found.map(({ name, others, goals = [], problems = [], figures }) => {
      return { name, others, goals, problems, figures };
    });
    process.stdout.write(`${JSON.stringify({ bench, ...given.values, results })}\n`);
  }
  const broken = found.some(({ problems = [] }) => problems.length > 0);
  const missed = found.some(({ goals = [] }) => goals.some(({ met }) => !met));
  process.exit(failed || broken || (check && missed) ? 1 : 0);
}

function describe({ shown, goals = [], problems = [], others }: Found): string {
  const disturbed =
    others > undisturbed ? [`Disturbed: other programs took ${percent(others)} of the machine`] : [];
  return [shown, ...goals.map(verdictOf), ...problems.slice(0, mostProblemsShown), ...disturbed].join("\n");
}

const sources = ["src", "drizzle", "scripts", "package.json", "bun.lock"];

/** `dist/onair`, built first if it is missing or older than its sources. */
async function builtExecutable(): Promise<string> {
  const executable = join(root, "dist/onair");
  const builtAt = existsSync(executable) ? statSync(executable).mtimeMs : 0;
  if (sources.some((source) => newestChange(join(root, source)) > builtAt)) {
    const build = Bun.spawn([process.execPath, "scripts/build.ts"], {
      cwd: root,
      stdout: "ignore",
      stderr: "inherit",
    });
    if ((await build.exited) !== 0) throw new BenchError("dist/onair could not be built");
  }
  return executable;
}

function newestChange(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestChange(join(path, name))));
}
