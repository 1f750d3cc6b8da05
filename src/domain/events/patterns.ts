import { RE2JS, RE2Set } from "re2js";

/** An expression that texts are tested against. */
export interface Pattern {
  /** About the number of its characters once all repetitions are written out. */
  readonly size: number;
  test(text: string): boolean;
}

const largestPattern = 500;
/**
 * The bytes of states that RE2 keeps for a pattern. Of one that has very many states, each costs more than going on without
 * them, and there may be some thousand patterns.
 */
const bytesOfStates = 64 * 1024;

/** A pattern that is refused; the message goes on from "the schema". */
export class PatternError extends Error {
  override name = "PatternError";
}

/**
 * A pattern of a JSON Schema as an expression of RE2, which takes time in proportion to the length of the text: one that
 * goes back and forth could hold the server up for as long as it likes. Throws a `PatternError` when RE2 does
 * not have the pattern or it is too large, and a `SyntaxError` when it is no pattern.
 */
export function boundedPattern(pattern: string, flags: string): Pattern {
  // RE2 takes more than JSON Schema has.
  new RegExp(pattern, flags);
  const expression = compiled(pattern);
  if (expression.size > largestPattern)
    throw new PatternError(
      `has the pattern ${shown(pattern)}, which is too large: with repetitions written out ${largestPattern} characters are the most. maxLength bounds a text`,
    );
  return expression;
}

/**
 * A pattern that an earlier version has stored: what RE2 does not have is left to the engine of the language, so that a
 * type stays as it was registered.
 */
export function storedPattern(pattern: string, flags: string): Pattern {
  try {
    return compiled(pattern);
  } catch {
    const expression = new RegExp(pattern, flags);
    return { size: pattern.length, test: (text) => expression.test(text) };
  }
}

function compiled(pattern: string): Pattern {
  try {
    const translated = RE2JS.translateRegExp(asInRe2(pattern));
    const expressions = new RE2Set(RE2Set.UNANCHORED, 0, bytesOfStates);
    expressions.add(translated);
    return {
      size: RE2JS.compile(translated).programSize(),
      test: (text) => expressions.match(text).length > 0,
    };
  } catch {
    throw new PatternError(
      `has the pattern ${shown(pattern)}, which RE2 does not have: no look-around, no references to groups, no long names of properties (\\p{L}, \\p{Greek}), and no more than 1000 repetitions`,
    );
  }
}

/** What `\s` and `\S` stand for in the language; in RE2 they are ASCII. */
const spaces =
  "\\t-\\r \\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}\\u{feff}";
const others =
  "\\u{0}-\\u{8}\\u{e}-\\u{1f}!-\\u{9f}\\u{a1}-\\u{167f}\\u{1681}-\\u{1fff}\\u{200b}-\\u{2027}\\u{202a}-\\u{202e}\\u{2030}-\\u{205e}\\u{2060}-\\u{2fff}\\u{3001}-\\u{fefe}\\u{ff00}-\\u{10ffff}";

/** A pattern with what RE2 would read otherwise written out: spaces, and characters in two halves. */
function asInRe2(pattern: string): string {
  let isInClass = false;
  return pattern.replace(/(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2}){2}|\\.|[[\]]/gsu, (part) => {
    if (part === "[") isInClass = true;
    else if (part === "]") isInClass = false;
    else if (part.length === 12) return JSON.parse(`"${part}"`);
    const written = part === "\\s" ? spaces : part === "\\S" ? others : null;
    if (written === null) return part;
    return isInClass ? written : `[${written}]`;
  });
}

const shown = (pattern: string) => JSON.stringify(pattern.slice(0, 100));
