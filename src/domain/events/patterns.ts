import type { RegExpLike } from "ajv/dist/types";
import { RE2JS } from "re2js";

/** The size of a pattern is about the number of its characters once all repetitions are written out. */
const largestPattern = 500;

/** A pattern that is refused; the message goes on from "the schema". */
export class PatternError extends Error {
  override name = "PatternError";
}

/**
 * A pattern of a JSON Schema as an expression of RE2, which takes time in proportion to the length of the text: one that
 * goes back and forth could hold the server up for as long as it likes. Throws a `PatternError` when RE2 does
 * not have the pattern or it is too large, and a `SyntaxError` when it is no pattern.
 */
export function boundedPattern(pattern: string, flags: string): RegExpLike {
  // RE2 takes more than JSON Schema has.
  new RegExp(pattern, flags);
  const expression = compiled(pattern);
  if (expression.programSize() > largestPattern)
    throw new PatternError(
      `has the pattern ${shown(pattern)}, which is too large: with repetitions written out ${largestPattern} characters are the most. maxLength bounds a text`,
    );
  return expression;
}
boundedPattern.code = "boundedPattern";

/**
 * A pattern that an earlier version has stored: what RE2 does not have is left to the engine of the language, so that a
 * type stays as it was registered.
 */
export function storedPattern(pattern: string, flags: string): RegExpLike {
  try {
    return compiled(pattern);
  } catch {
    return new RegExp(pattern, flags);
  }
}
storedPattern.code = "storedPattern";

function compiled(pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch {
    throw new PatternError(
      `has the pattern ${shown(pattern)}, which RE2 does not have: no look-around and no references to groups`,
    );
  }
}

const shown = (pattern: string) => JSON.stringify(pattern.slice(0, 100));
