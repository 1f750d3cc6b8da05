import { RE2JS } from "re2js";
import { schemaLimits } from "./event-type.ts";

/** An expression that texts are tested against. */
export interface Pattern {
  /** About the number of its characters once all repetitions are written out. */
  readonly size: number;
  test(text: string): boolean;
}

/**
 * The bytes of states that RE2 caches for a pattern. For a pattern with very many states, caching them costs more than
 * it saves. There may be some thousand patterns.
 */
const bytesOfStates = 64 * 1024;

/** The error for a refused pattern. Its message continues a sentence that begins with "schema". */
export class PatternError extends Error {
  override name = "PatternError";
}

/**
 * Compiles a pattern of a JSON Schema with RE2, whose time is proportional to the length of the text. With a
 * backtracking engine, a pattern could block the server without limit. Throws a `PatternError` when RE2 does not
 * support the pattern or it is too large, and a `SyntaxError` when it is not a regular expression.
 */
export function boundedPattern(pattern: string, flags: string): Pattern {
  // RE2 accepts syntax that JSON Schema does not have.
  new RegExp(pattern, flags);
  const expression = compiled(pattern);
  const { patternSize } = schemaLimits;
  if (expression.size > patternSize)
    throw new PatternError(
      `has the pattern ${quoted(pattern)}, which is too large: it may have at most ${patternSize} characters with repetitions written out. To bound the length of a text, use maxLength`,
    );
  return expression;
}

function compiled(pattern: string): Pattern {
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(asInRe2(pattern)));
    const { dfa } = expression.re2();
    dfa.memBudget = bytesOfStates;
    dfa.stateBudget = bytesOfStates;
    return { size: expression.programSize(), test: (text) => expression.test(text) };
  } catch {
    throw new PatternError(
      `has the pattern ${quoted(pattern)}, which RE2 does not support: no look-around, no references to groups, no long names of properties (\\p{L}, \\p{Greek}), and no more than 1000 repetitions`,
    );
  }
}

/** The characters of `\s` and `\S` in JavaScript; in RE2 they are ASCII only. */
const spaces =
  "\\t-\\r \\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}\\u{feff}";
const others =
  "\\u{0}-\\u{8}\\u{e}-\\u{1f}!-\\u{9f}\\u{a1}-\\u{167f}\\u{1681}-\\u{1fff}\\u{200b}-\\u{2027}\\u{202a}-\\u{202e}\\u{2030}-\\u{205e}\\u{2060}-\\u{2fff}\\u{3001}-\\u{fefe}\\u{ff00}-\\u{10ffff}";

/** Writes out the parts that RE2 reads differently: `\s`, `\S`, and characters as surrogate pairs. */
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

const quoted = (pattern: string) => JSON.stringify(pattern.slice(0, 100));
