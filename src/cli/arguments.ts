import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { checkArguments, didYouMean } from "../arguments.ts";
import { UsageError } from "./command.ts";

/** Reads the words and options of a command; throws `UsageError`. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
) {
  const { mistakes } = checkArguments(args, options);
  if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
  return parseArgs({ args: [...args], allowPositionals: true, options });
}

/**
 * The word among the known ones, for what `what` names, as "action"; undefined, with a mistake noted, where it is none.
 */
export function readWord<Word extends string>(
  what: string,
  word: string | undefined,
  known: readonly Word[],
  mistakes: string[],
): Word | undefined {
  const found = known.find((one) => one === word);
  if (found !== undefined) return found;
  const sentence = `the ${what} must be one of ${known.join(", ")}`;
  mistakes.push(word === undefined ? sentence : `${sentence}, not "${word}".${didYouMean(word, known)}`);
  return undefined;
}

/** Notes words that the command does not take. */
export function noMore(words: readonly (string | undefined)[], mistakes: string[]): void {
  const [word] = words;
  if (word !== undefined) mistakes.push(`"${word}" is not expected here`);
}

/** The number of an option; undefined where it is left out or, with a mistake noted, none. */
export function readNumber(
  option: string,
  text: string | undefined,
  mistakes: string[],
  { minimum = 0 }: { readonly minimum?: number } = {},
): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(text) && Number(text) >= minimum) return Number(text);
  mistakes.push(`--${option} must be a number${minimum > 0 ? ` from ${minimum} on` : ""}, not "${text}"`);
  return undefined;
}
