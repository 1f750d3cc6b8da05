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
