import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** Words above this length get no suggestion. */
const longestWord = 40;

/** Returns the known word closest to a mistyped one; null when none is close. */
export function nearest(word: string, known: readonly string[]): string | null {
  if (word.length < 2 || word.length > longestWord) return null;
  const slips = Math.min(3, Math.max(1, Math.floor(word.length / 3)));
  let best: string | null = null;
  let fewest = slips + 1;
  for (const one of known) {
    const distance = distanceOf(word, one);
    if (distance < fewest) [best, fewest] = [one, distance];
  }
  return best;
}

function distanceOf(word: string, known: string): number {
  // Among words that begin with the given one, the shortest is the most likely.
  if (known.startsWith(word)) return 1 - 1 / known.length;
  // Other programs have longer names for it, like --public-port. The longest known part is the most likely.
  if (word.startsWith(`${known}-`) || word.endsWith(`-${known}`)) return 1 + 1 / known.length;
  // --client-secret is called --secret-file here.
  if (word.includes("-") && known.startsWith(`${word.slice(word.lastIndexOf("-") + 1)}-`)) return 2;
  return editDistance(word, known);
}

/** Returns " Did you mean …?", to append to a sentence; "" when no known word is close. */
export function didYouMean(word: string, known: readonly string[], prefix = ""): string {
  const meant = nearest(word, known);
  return meant === null ? "" : ` Did you mean ${prefix}${meant}?`;
}

/** Returns the number of letters to insert, delete, replace or swap with a neighbour. */
function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, (older[j - 2] ?? 0) + 1);
      current.push(least);
    }
    [older, previous] = [previous, current];
  }
  return previous[b.length] ?? 0;
}

/** The parsed command line, with the mistakes in its options. */
interface Arguments {
  readonly positionals: readonly string[];
  /** Values by option name; the last one of a repeated option. */
  readonly values: Readonly<Record<string, string | true>>;
  readonly mistakes: readonly string[];
  /** Options that are given more than once but take one value. */
  readonly repeated: readonly string[];
}

/**
 * Parses a command line. Each wrong option adds a sentence to `mistakes` and has no value. A switch with a default also
 * accepts a value: `--portal=false`.
 */
export function checkArguments(args: readonly string[], options: ParseArgsOptionsConfig): Arguments {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const known = Object.keys(options);
  const positionals: string[] = [];
  const values: Record<string, string | true> = {};
  const mistakes: string[] = [];
  const repeated = new Set<string>();
  let afterUnknown = -1;
  for (const token of tokens) {
    if (token.kind === "positional") {
      // The word after an unknown option is most likely its value.
      if (token.index !== afterUnknown) positionals.push(token.value);
    }
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue, index } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (rawName === "--help") {
      mistakes.push("--help takes no value");
    } else if (!option || rawName !== `--${name}`) {
      mistakes.push(`${rawName} is not a known option.${didYouMean(name, known, "--")}`);
      if (value === undefined) afterUnknown = index + 1;
    } else if (option.type === "boolean") {
      if (value === undefined) values[name] = true;
      else if (option.default === undefined) mistakes.push(`--${name} takes no value`);
      else values[name] = value;
    } else if (value === undefined) {
      mistakes.push(`--${name} needs a value`);
    } else if (inlineValue === false && /^-./.test(value)) {
      mistakes.push(
        `--${name} needs a value, and ${value} looks like an option; to use it as the value, write --${name}=${value}`,
      );
    } else {
      if (Object.hasOwn(values, name) && !option.multiple) repeated.add(name);
      values[name] = value;
    }
  }
  return { positionals, values, mistakes, repeated: [...repeated] };
}
