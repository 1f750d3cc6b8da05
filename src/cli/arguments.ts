import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { checkArguments, didYouMean } from "../arguments.ts";
import { UsageError } from "./command.ts";

/** Options of these names that take a value. */
export function valued<const Name extends string>(...names: readonly Name[]) {
  return ofType(names, { type: "string" });
}

/** Options of these names that take none. */
export function switches<const Name extends string>(...names: readonly Name[]) {
  return ofType(names, { type: "boolean" });
}

function ofType<Name extends string, const Option>(names: readonly Name[], option: Option) {
  return Object.fromEntries(names.map((name) => [name, option])) as Readonly<Record<Name, Option>>;
}

/** Parses the arguments of a command, of which `choices` are options with a fixed list of values; throws `UsageError`. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  choices: Readonly<Record<string, readonly string[]>> = {},
) {
  const { mistakes, repeated } = checkArguments(args, options);
  const all = [...mistakes, ...repeated.map((name) => `--${name} is given more than once`)];
  if (all.length > 0) throw new UsageError(all.join("\n"));
  const parsed = parseArgs({ args: [...args], allowPositionals: true, options });
  const values: Readonly<Record<string, unknown>> = parsed.values;
  const unknown = Object.entries(choices).flatMap(([name, known]) =>
    [values[name] ?? []]
      .flat()
      .map(String)
      // Empty stands for none, where an option may be repeated.
      .filter((value) => value !== "" && !known.includes(value))
      .map((value) => `--${name} ${notOneOf(known, value)}`),
  );
  if (unknown.length > 0) throw new UsageError(unknown.join("\n"));
  return parsed;
}

function notOneOf(known: readonly string[], word: string): string {
  return `must be one of ${known.join(", ")}, not "${word}".${didYouMean(word, known)}`;
}

/**
 * Returns the word when it is a known one; else adds a mistake that names `what`, such as "action", and returns
 * undefined.
 */
export function readWord<Word extends string>(
  what: string,
  word: string | undefined,
  known: readonly Word[],
  mistakes: string[],
): Word | undefined {
  const found = known.find((one) => one === word);
  if (found !== undefined) return found;
  const problem = word === undefined ? `must be one of ${known.join(", ")}` : notOneOf(known, word);
  mistakes.push(`the ${what} ${problem}`);
  return undefined;
}

/** Adds a mistake for each superfluous word. */
export function noMore(words: readonly (string | undefined)[], mistakes: string[]): void {
  const [word] = words;
  if (word !== undefined) mistakes.push(`"${word}" is not expected here`);
}

/** Adds a mistake for each option that the action does not take. */
export function refuseMisplaced(
  action: string,
  values: object,
  taken: readonly string[],
  mistakes: string[],
): void {
  const known = ["url", "data", "database", "config", "client-cert", "client-key", "json", ...taken];
  for (const name of Object.keys(values)) {
    if (!known.includes(name)) mistakes.push(`--${name} is not for ${action}`);
  }
}

/** The number of an option; undefined when it is absent or, with a mistake added, invalid. */
export function readNumber(
  option: string,
  text: string | undefined,
  mistakes: string[],
  { minimum = 0, of = "" }: { readonly minimum?: number; readonly of?: string } = {},
): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(text) && Number(text) >= minimum) return Number(text);
  mistakes.push(
    `--${option} must be a number${of === "" ? "" : ` of ${of}`}${minimum > 0 ? ` from ${minimum} on` : ""}, not "${text}"`,
  );
  return undefined;
}

/** The http or https URL of an option or variable; "", with a mistake added, when it is none. */
export function readHttpUrl(text: string, source: string, mistakes: string[]): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  mistakes.push(`${source} must be an http URL, not "${text}"`);
  return "";
}
