/*
 * The search index has trigrams, but a text to search for may be shorter: names in Chinese, Japanese and Korean often
 * have two letters, and in Thai, Hindi or pointed Arabic three characters are fewer when marks are removed. So the
 * index also contains all texts of one and two letters of these scripts, which are in these ranges, and each whole name
 * of one or two characters in any script. Short parts of other names are seldom searched for.
 */
const letters =
  "[\\u0590-\\u109f\\u1700-\\u1bff\\u3005-\\u3007\\u3040-\\u312f\\u3131-\\u318e\\u31a0-\\u31bf\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3\\u{20000}-\\u{3ffff}]";
const [one, two] = [new RegExp(letters, "gu"), new RegExp(`(?=(${letters}{2}))`, "gu")];
const whole = new RegExp(`^${letters}{1,2}$`, "u");
const upToTwo = /^.{1,2}$/su;

/** Whether the index has a folded text wherever a name contains it, although the text is shorter than a trigram. */
export const isShortText = (text: string): boolean => whole.test(text);

/** The short texts of a folded name that the index contains, each once. */
export function shortTextsOf(name: string): Set<string> {
  const found = new Set(name.match(one));
  for (const [, pair = ""] of found.size > 0 ? name.matchAll(two) : []) found.add(pair);
  if (upToTwo.test(name)) found.add(name);
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
