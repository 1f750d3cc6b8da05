const diacritics = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/g;
/** Characters whose folding changes at most ASCII case: kana, Han and Hangul have neither case nor diacritics. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const unmarked = /^[\x00-\x7f\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]*$/;

/**
 * The normalised form in which names are compared: without case and diacritics. Marks that are letters of their script
 * (Thai vowels, Japanese voicing, Hangul) stay, so that different words stay different. `ß` equals `ss`, all forms of
 * sigma are equal.
 */
export function fold(text: string): string {
  if (unmarked.test(text)) return text.toLowerCase();
  return text
    .normalize("NFD")
    .replace(diacritics, "")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .normalize("NFC");
}

/** The length in Unicode code points, which the limits of the public API use. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A number with thousands separators. Not `toLocaleString`, which loads the rules of all languages. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=([0-9]{3})+$)/g, ",");
}
