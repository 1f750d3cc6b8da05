import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { durationMs, isoTime, second } from "../domain/time.ts";
import { checkArguments, didYouMean } from "../server/settings/command-line.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { type Candidates, type Command, UsageError, type Words } from "./command.ts";
import { Output, type Paging } from "./output/output.ts";

/** Returns options with these names that take a value. */
export function valued<const Name extends string>(...names: readonly Name[]) {
  return ofType(names, { type: "string" });
}

/** Returns options with these names that take a value and may be repeated. */
export function repeatable<const Name extends string>(...names: readonly Name[]) {
  return ofType(names, { type: "string", multiple: true });
}

/** Returns options with these names that take no value. */
export function switches<const Name extends string>(...names: readonly Name[]) {
  return ofType(names, { type: "boolean" });
}

function ofType<Name extends string, const Option>(names: readonly Name[], option: Option) {
  return Object.fromEntries(names.map((name) => [name, option])) as Readonly<Record<Name, Option>>;
}

/** The values of the given options. */
export type OptionValues<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; allowPositionals: true; options: Options }>
>["values"];

/** The definition of a command. */
interface Definition<Options extends ParseArgsOptionsConfig, Action extends string>
  extends Omit<Words, "options">,
    Pick<Command, "values"> {
  readonly summary: string;
  readonly help: string;
  readonly options: Options;
  /** Options with a fixed list of values. */
  readonly choices?: Partial<Record<keyof Options & string, readonly string[]>>;
  /** The possible first words. An option listed by an action is refused with actions that do not list it. */
  readonly actions?: Readonly<Record<Action, Words<keyof Options & string>>>;
  /** The noun for an action in error messages, if not "action". */
  readonly called?: string;
  /** Returns the exit code, or nothing for 0. Throws like `run` of a `Command`. */
  run(line: CommandLine<Options, Action>): Promise<number | undefined> | Promise<void>;
}

/** A checked command line. */
interface CommandLine<Options extends ParseArgsOptionsConfig, Action extends string> {
  readonly action: Action;
  /** The words after the action. */
  readonly words: readonly string[];
  readonly values: OptionValues<Options>;
  readonly env: Environment;
  /** Prints JSON if `--json` is given. */
  readonly out: Output;
  /** Mistakes in the command line, as sentences. `run` may add more. */
  readonly mistakes: string[];
  /** Throws a `UsageError` with all mistakes, if there are any. */
  check(): void;
}

/** The context that a function needs to read further options. */
export type Reading = Pick<CommandLine<never, never>, "env" | "out" | "mistakes">;

/** Makes a command that checks its words and options before it runs. */
export function command<const Options extends ParseArgsOptionsConfig, const Action extends string = never>(
  definition: Definition<Options, Action>,
): Command {
  const { run, options, actions, choices = {}, called = "action", ...rest } = definition;
  const known = Object.keys(actions ?? {}) as Action[];
  return {
    ...rest,
    options,
    ...(actions && { actions }),
    values: { ...(choices as Record<string, Candidates>), ...rest.values },
    async run(args, env) {
      const { values, positionals } = readArguments(args, options, choices);
      const mistakes: string[] = [];
      const check = () => {
        if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
      };
      const [first, ...others] = positionals;
      const action = actions && readWord(called, first, known, mistakes);
      if (actions && action === undefined) check();
      const words = actions ? others : positionals;
      checkWords((action && actions?.[action]) ?? rest, words, mistakes);
      if (action && actions) refuseMisplaced(action, values, actions, mistakes);
      // A command without actions does not use `action`.
      const out = new Output("json" in values && values.json === true, env);
      const line = { action: action as Action, words, values, env, out, mistakes, check };
      return (await run(line)) ?? 0;
    },
  };
}

function checkWords({ needs, most }: Words, words: readonly string[], mistakes: string[]): void {
  if (needs !== undefined && words.length === 0) mistakes.push(`${capitalized(needs)} is missing`);
  const extra = words[most ?? (needs === undefined ? 0 : 1)];
  if (extra !== undefined) mistakes.push(`"${extra}" is not expected here`);
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function refuseMisplaced(
  action: string,
  values: object,
  actions: Readonly<Record<string, Words>>,
  mistakes: string[],
): void {
  for (const name of Object.keys(values)) {
    const takers = Object.keys(actions).filter((one) => actions[one]?.options?.includes(name));
    if (takers.length > 0 && !takers.includes(action))
      mistakes.push(`--${name} is not for ${action}, but for ${takers.join(", ")}`);
  }
}

/** Parses options; throws a `UsageError`. */
function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  choices: Readonly<Record<string, readonly string[] | undefined>>,
) {
  const { mistakes, repeated } = checkArguments(args, options);
  const all = [...mistakes, ...repeated.map((name) => `--${name} is given more than once`)];
  if (all.length > 0) throw new UsageError(all.join("\n"));
  const parsed = parseArgs({ args: [...args], allowPositionals: true, options });
  const values: Readonly<Record<string, unknown>> = parsed.values;
  const unknown = Object.entries(choices).flatMap(([name, known = []]) =>
    [values[name] ?? []]
      .flat()
      .map(String)
      // The value "" empties the list of an option that may be repeated.
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
 * Returns the word when it is known. Otherwise adds a mistake that names `what`, such as "action", and returns
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
  mistakes.push(`The ${what} ${problem}`);
  return undefined;
}

/** Reads the number of an option; undefined when it is absent, or invalid, which adds a mistake. */
export function readNumber(
  option: string,
  text: string | undefined,
  mistakes: string[],
  minimum = 0,
): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(text) && Number(text) >= minimum) return Number(text);
  mistakes.push(`--${option} must be a number${minimum > 0 ? `, at least ${minimum}` : ""}, not "${text}"`);
  return undefined;
}

/** Reads the http or https URL of an option or variable; "" when it is invalid, which adds a mistake. */
export function readHttpUrl(text: string, source: string, mistakes: string[]): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  mistakes.push(`${source} must be an http or https URL, not "${text}"`);
  return "";
}

/** Reads the URL of a local program. `localhost:3000` stands for `http://localhost:3000`. */
export function readForward(text: string, mistakes: string[]): string {
  const isShort = !text.includes("://") && URL.canParse(`http://${text}`);
  return readHttpUrl(isShort ? `http://${text}` : text, "--forward", mistakes);
}

/**
 * Reads a duration like `90s`, `30m`, `1h` or `2d`, in milliseconds; undefined when it is invalid, which adds a
 * mistake.
 */
function readDuration(option: string, text: string | undefined, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  if (ms !== null) return ms;
  mistakes.push(`--${option} must be a duration like 90s, 30m, 1h or 2d, not "${text}"`);
  return undefined;
}

/** Reads `--since` as a time in ISO 8601; undefined when it is absent, or invalid, which adds a mistake. */
export function readSince(text: string | undefined, mistakes: string[]): string | undefined {
  const ms = readDuration("since", text, mistakes);
  return ms === undefined ? undefined : isoTime(Date.now() - ms);
}

/**
 * Reads a duration or a number of seconds, in seconds; undefined when it is absent, or invalid, which adds a mistake.
 */
export function readSeconds(
  option: string,
  text: string | undefined,
  mistakes: string[],
): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  const ms = readDuration(option, text, mistakes);
  return ms === undefined ? undefined : ms / second;
}

export const pagingOptions = { ...valued("limit", "cursor"), ...switches("all") };
export const pagingNames = ["limit", "cursor", "all"] as const;

export const pagingHelp = `  --limit N      for list: maximum number of items (default: 25)
  --all          for list: all items
  --cursor CURSOR
                 for list: continue after the list that printed this cursor`;

const defaultLimit = 25;

/** Reads the requested part of a list, and adds problems to `mistakes`. */
export function readPaging(
  { limit, all = false, cursor = "" }: OptionValues<typeof pagingOptions>,
  mistakes: string[],
): Paging {
  if (all && limit !== undefined) mistakes.push("--limit and --all exclude each other");
  const number = readNumber("limit", limit, mistakes, 1);
  return { limit: all ? Number.POSITIVE_INFINITY : (number ?? defaultLimit), cursor };
}
