import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  BenchError,
  benchDirectory,
  otherWork,
  type Program,
  pinThisProcess,
  requireMachine,
} from "./processes.ts";
import { type Goal, percent, verdictOf } from "./report.ts";

/**
 * An option of a benchmark. What it is by default says what it takes: a whole number, a text (null), or nothing
 * (false).
 */
interface Option {
  readonly default: number | null | false;
  readonly help: string;
  /** Of a number; 1 where left out. */
  readonly least?: number;
  readonly most?: number;
}

type OptionSet = Readonly<Record<string, Option>>;

/** What the options are for a run. */
export type Values<Options extends OptionSet> = {
  readonly [Name in keyof Options]: Options[Name]["default"] extends number
    ? number
    : Options[Name]["default"] extends null
      ? string | null
      : boolean;
};

interface Given<Options extends OptionSet> {
  readonly values: Values<Options>;
  readonly only: readonly string[];
  readonly executable: string | null;
  readonly json: boolean;
  readonly check: boolean;
}

const flag = (help: string): Option => ({ default: false, help });
const text = (help: string): Option => ({ default: null, help });

/**
 * Reads the options of a benchmark and those that all have. Ends the process after `--help`, and where an option is
 * wrong, with 2 and a sentence that says so.
 */
function readOptions<Options extends OptionSet>(
  about: string,
  own: Options,
  { parts, ofExecutable }: { readonly parts: readonly string[]; readonly ofExecutable: boolean },
): Given<Options> {
  const options: Record<string, Option> = {
    ...own,
    ...(parts.length > 0 && { only: text(`only these, with commas between: ${parts.join(", ")}`) }),
    ...(ofExecutable && { executable: text("measure this file instead of dist/onair") }),
    json: flag("print one line of JSON"),
    check: flag("exit with 1 when a goal is not met"),
    help: flag("print this"),
  };
  try {
    const { values } = parseArgs({
      options: Object.fromEntries(
        Object.entries(options).map(([name, { default: usual }]) => [
          name,
          { type: usual === false ? ("boolean" as const) : ("string" as const) },
        ]),
      ),
    });
    if (values["help"]) {
      process.stdout.write(helpOf(about, options));
      process.exit();
    }
    const chosen = String(values["only"] ?? parts).split(",");
    const unknown = chosen.find((name) => name !== "" && !parts.includes(name));
    if (unknown !== undefined)
      throw new TypeError(`--only has no "${unknown}"; it takes ${parts.join(", ")}`);
    const read = Object.entries(own).map(([name, option]) => [name, readValue(name, values[name], option)]);
    return {
      values: Object.fromEntries(read) as Values<Options>,
      only: parts.filter((name) => chosen.includes(name)),
      executable: (values["executable"] as string | undefined) ?? null,
      json: values["json"] === true,
      check: values["check"] === true,
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

function readValue(name: string, given: unknown, { default: usual, least = 1, most = 1e9 }: Option): unknown {
  if (typeof usual !== "number") return given ?? usual;
  const value = Number(given ?? usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new TypeError(`--${name} must be an integer from ${least} to ${most}`);
}

function helpOf(about: string, options: OptionSet): string {
  const lines = Object.entries(options).map(([name, { default: usual, help }]) => {
    const takes = typeof usual === "number" ? " N" : usual === null ? " X" : "";
    const otherwise = typeof usual === "number" ? ` (default: ${usual})` : "";
    return `  ${`--${name}${takes}`.padEnd(20)} ${help}${otherwise}\n`;
  });
  const bench = basename(process.argv[1] ?? "");
  return `Usage: bun tests/bench/${bench} [options]\n\n${lines.join("")}\n${about.trim()}\n`;
}

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
