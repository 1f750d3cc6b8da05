import { basename } from "node:path";
import { parseArgs } from "node:util";

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

export type OptionSet = Readonly<Record<string, Option>>;

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
export function readOptions<Options extends OptionSet>(
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
