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
