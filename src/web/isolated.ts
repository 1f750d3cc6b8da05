/** Letters that are written from right to left (Hebrew, Arabic and their like), and characters that turn the text. */
const turning =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Returns a name for a text that cannot hold elements, such as a title or an accessible name. A name that is written
 * from right to left, or has characters that turn the text, is isolated, so that it does not reorder the text around it
 * (Unicode UAX #9: FSI and PDI). Where elements are possible, `<bdi>` does that.
 */
export function isolated(name: string): string {
  if (!turning.test(name)) return name;
  // A surplus PDI in the name would end the isolation, and a surplus opening character would swallow the closing PDI.
  return `\u2068${name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")}\u2069`;
}

/** The most characters of a name in a sentence. */
const longestName = 48;

/** Returns a name for a sentence, such as a question or a report: isolated, and cut at its end. */
export function inText(name: string): string {
  const characters = [...name];
  if (characters.length <= longestName) return isolated(name);
  return isolated(`${characters.slice(0, longestName - 1).join("")}…`);
}
