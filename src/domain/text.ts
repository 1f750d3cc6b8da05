/**
 * Lower-case letters that Unicode does not decompose, by the plain letters that they count as: letters whose Unicode
 * name is that of a plain letter "with" a stroke, a hook or the like, barred letters, ligatures, and four letters that
 * are commonly written with plain letters (dotless i, eth, sharp s, thorn).
 */
export const plainLetters: Record<string, string> = {
  a: "ᶏⱥ",
  aa: "ꜳ",
  ae: "æ",
  ao: "ꜵ",
  au: "ꜷ",
  av: "ꜹꜻ",
  ay: "ꜽ",
  b: "ƀƃɓᵬᶀꞗ",
  c: "ƈȼɕꞓꞔ𝼝",
  d: "ðđƌȡɖɗᵭᶁᶑꟈ",
  db: "ȸ",
  dz: "ʣʥꭦ",
  e: "ɇᶒⱸꬴ",
  f: "ƒᵮᶂꞙ",
  g: "ǥɠᶃꞡ",
  h: "ħɦⱨꞕ",
  i: "ıɨᶖ𝼚",
  j: "ȷɉɟʄʝ",
  k: "ƙᶄⱪꝁꝃꝅꞣ",
  l: "łƚȴɫɬɭᶅⱡꝉꞎꬷꬸꬹ𝼑𝼓",
  ll: "ỻ",
  ls: "ʪ",
  lz: "ʫ",
  m: "ɱᵯᶆꬺ",
  n: "ƞȵɲɳᵰᶇꞑꞥꬻ",
  o: "øɵⱺꝋꝍ𝼛",
  oe: "œ",
  oo: "ꝏ",
  p: "ƥᵱᵽᶈꝑꝓꝕ",
  q: "ɋʠꝗꝙ",
  qp: "ȹ",
  r: "ɍɼɽɾᵲᵳᶉꞧꭉ𝼖",
  s: "ȿʂᵴᶊẜẝꞩꟊ𝼞",
  ss: "ß",
  t: "ŧƫƭȶʈᵵⱦ𝼉",
  th: "þᵺꝥꝧ",
  ts: "ʦꭧ",
  tz: "ꜩ",
  u: "ʉᶙꞹꭎꭏꭒ",
  ue: "ᵫ",
  v: "ʋᶌⱱⱴꝟ",
  vy: "ꝡ",
  w: "ⱳ",
  x: "ᶍꭖꭗꭘꭙ",
  y: "ƴɏỿꭚ",
  z: "ƶȥɀʐʑᵶᶎⱬ",
  г: "ґғҕӷӻ",
  ж: "җ",
  з: "ҙ",
  и: "ҋ",
  к: "қҝҟӄ",
  л: "ӆԓԡԯ",
  м: "ӎ",
  н: "ңӈӊԣԩ",
  нг: "ҥ",
  о: "ө",
  п: "ҧԥ",
  р: "ҏ",
  с: "ҫ",
  т: "ҭꚋ",
  тц: "ҵ",
  х: "ҳӽӿ",
  ч: "ҷҹ",
  ы: "ꙑ",
  ѡ: "ѽ",
  ү: "ұ",
  һ: "ԧ",
  ҽ: "ҿ",
  // U+05F0 to U+05F2: ligatures of Yiddish.
  "\u05d5\u05d5": "\u05f0",
  "\u05d5\u05d9": "\u05f1",
  "\u05d9\u05d9": "\u05f2",
  // Alef wasla, and alef with a wavy hamza. A high hamza disappears, as the hamzas do that are marks.
  "\u0627": "\u0671\u0672\u0673",
  "": "\u0674",
  // Typographic forms of apostrophes, quotation marks and hyphens.
  "'": "\u2018\u2019\u201b\u2032\u02b9\u02bb\u02bc",
  '"': "\u201c\u201d\u201e\u201f",
  "-": "\u2010\u2012\u2013\u2014\u2015\u2212",
};
const plainOf = new Map(
  Object.entries(plainLetters).flatMap(([plain, forms]) => [...forms].map((form) => [form, plain] as const)),
);

/** Characters whose folding changes at most ASCII case: Han and Hangul have neither case nor marks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const unmarked = /^[\x00-\x7f\u4e00-\u9fff\uac00-\ud7a3]*$/;

/**
 * Returns the form in which names are compared, without case and diacritics. It does not depend on a language:
 *
 * - Compatible forms are equal (NFKD): full-width letters, ligatures, superscripts, spaces that do not break.
 * - All marks are removed (`\p{M}`), vowel signs of Thai or Hindi and the voicing of kana too.
 * - All forms of sigma are equal, and `I`, `İ`, `ı` and `i`.
 * - Letters without a decomposition count as plain letters (`ł` as `l`, `æ` as `ae`).
 * - A syllable of Hangul is a letter, although it decomposes.
 *
 * A text of marks alone keeps them, so that only the empty text becomes empty. Otherwise each code point is folded
 * alone, so that a text which contains another one contains it when both are folded, too.
 */
export function fold(text: string): string {
  if (unmarked.test(text)) return text.toLowerCase();
  let folded = "";
  // NFC composes these parts alone: for the marks of one letter it takes quadratic time.
  const composed = text.replace(lettersInParts, (parts) => parts.normalize("NFC"));
  for (const character of composed) folded += foldedCharacter(character);
  return folded || text;
}

/** Parts of which a letter is composed and that are no marks: of syllables of Hangul, and of vowels of Kirat Rai. */
const lettersInParts = /[\uac00-\ud7a3]?[\u1100-\u11ff]+|[\u{16d63}\u{16d67}]{2,}/gu;

/** Folded characters, because folding takes long. Emptied when it is full, so that its size is bounded. */
const known = new Map<string, string>();
/** The most folded characters that are kept. */
const mostKnown = 2 ** 14;

function foldedCharacter(character: string): string {
  let folded = known.get(character);
  if (folded === undefined) {
    folded = unmarked.test(character) ? character.toLowerCase() : foldedAlone(character);
    if (known.size >= mostKnown) known.clear();
    known.set(character, folded);
  }
  return folded;
}

function foldedAlone(character: string): string {
  // An acute accent alone, in either encoding, is used as an apostrophe.
  if (character.normalize("NFC") === "\u00b4") return "'";
  const letters = character.normalize("NFKD").replace(/\p{M}/gu, "");
  // Upper case first, because several lower-case letters have the same upper-case letter.
  const lower = letters.toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
  return Array.from(lower, (letter) => plainOf.get(letter) ?? letter)
    .join("")
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
