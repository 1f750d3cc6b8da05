/**
 * Runs of one character are in the index of the search by their length, because `0000000` would else have no more trigrams
 * than `000`: from `shortestRun` on; those above `longestRun` count as that long.
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

/** All runs that a text contains: a longer one contains the shorter ones. */
export function* containedRuns(text: string): Generator<Run> {
  for (const { character, length } of runsOf(text)) {
    for (let n = shortestRun; n <= length; n++) yield { character, length: n };
  }
}
