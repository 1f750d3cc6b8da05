/*
 * A query has at least three characters, but it may be shorter when it is folded, because marks are removed: in Thai,
 * Hindi or pointed Arabic often. The search index has trigrams, so it also contains the texts of one and two letters of
 * such scripts, which are in this range. Short texts of other characters are seldom searched for.
 */
const letters = "[\\u0590-\\u109f\\u1700-\\u1bff]";
const [one, two] = [new RegExp(letters, "g"), new RegExp(`(?=(${letters}{2}))`, "g")];
const whole = new RegExp(`^${letters}{1,2}$`);

/** Whether a folded text is a short one that the index contains. */
export const isShortText = (text: string): boolean => whole.test(text);

/** The short texts that a folded text contains, each once. */
export function shortTextsOf(text: string): Set<string> {
  const found = new Set(text.match(one));
  for (const [, pair = ""] of found.size > 0 ? text.matchAll(two) : []) found.add(pair);
  return found;
}

/**
 * The search index contains runs of one repeated character with their length, because `0000000` has no other trigrams
 * than `000`. Runs begin at `shortestRun` characters; longer ones than `longestRun` count as that long.
 */
const [shortestRun, longestRun] = [4, 8];
const runs = /(.)\1{3,}/gsu;

export interface Run {
  readonly character: string;
  readonly length: number;
}

/** The runs of a text. */
export function* runsOf(text: string): Generator<Run> {
  for (const [found, character = ""] of text.matchAll(runs)) {
    yield { character, length: Math.min(found.length / character.length, longestRun) };
  }
}

/** All runs that a text contains, with the shorter runs inside a longer one. */
export function* containedRuns(text: string): Generator<Run> {
  for (const { character, length } of runsOf(text)) {
    for (let n = shortestRun; n <= length; n++) yield { character, length: n };
  }
}
