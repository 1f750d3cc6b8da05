import { parseArgs } from "node:util";

/** A whole number, and what it may be. */
interface NumberOption {
  readonly default: number;
  /** 1 where left out. */
  readonly least?: number;
  readonly most?: number;
}

interface Known<Numbers extends string, Texts extends string, Flags extends string> {
  readonly numbers?: Readonly<Record<Numbers, NumberOption>>;
  readonly texts?: readonly Texts[];
  readonly flags?: readonly Flags[];
  /** What `--only` may name, with commas between; all where it is left out. */
  readonly only?: readonly string[];
}

/**
 * Reads the options of a benchmark. Ends the process after `--help`, which prints `help`, and where an option is wrong,
 * with 2 and a sentence that says so.
 */
export function readOptions<
  Numbers extends string = never,
  Texts extends string = never,
  Flags extends string = never,
>(help: string, known: Known<Numbers, Texts, Flags>) {
  const { numbers = {} as Record<Numbers, NumberOption>, texts = [], flags = [], only = [] } = known;
  const withValue = [...Object.keys(numbers), ...texts, ...(only.length > 0 ? ["only"] : [])];
  try {
    const { values } = parseArgs({
      options: {
        ...Object.fromEntries(withValue.map((name) => [name, { type: "string" as const }])),
        ...Object.fromEntries(["help", ...flags].map((name) => [name, { type: "boolean" as const }])),
      },
    });
    if (values["help"]) {
      process.stdout.write(help);
      process.exit();
    }
    const chosen = String(values["only"] ?? only).split(",");
    const unknown = chosen.find((name) => name !== "" && !only.includes(name));
    if (unknown !== undefined) throw new TypeError(`--only has no "${unknown}"; it takes ${only.join(", ")}`);
    const read = Object.entries<NumberOption>(numbers).map(([name, option]) => [
      name,
      numberFrom(name, values[name], option),
    ]);
    return {
      ...(Object.fromEntries(read) as Record<Numbers, number>),
      ...(Object.fromEntries(texts.map((name) => [name, values[name]])) as Record<Texts, string | undefined>),
      ...(Object.fromEntries(flags.map((name) => [name, values[name] === true])) as Record<Flags, boolean>),
      only: only.filter((name) => chosen.includes(name)),
    };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

function numberFrom(
  name: string,
  given: unknown,
  { default: usual, least = 1, most = 1e9 }: NumberOption,
): number {
  const value = Number(given ?? usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new TypeError(`--${name} must be an integer from ${least} to ${most}`);
}
