const diacritics = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point is to find them
const notAscii = /[^\x00-\x7f]/;

/**
 * The form in which names are compared: without case and diacritics. Marks that are letters of their script (Thai
 * vowels, Japanese voicing, Hangul) stay, so that different words stay different. `ß` equals `ss`, every sigma is one.
 */
export function fold(text: string): string {
  if (!notAscii.test(text)) return text.toLowerCase();
  return text
    .normalize("NFD")
    .replace(diacritics, "")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .normalize("NFC");
}

/** Length in Unicode code points, as limits of the public API are counted. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
