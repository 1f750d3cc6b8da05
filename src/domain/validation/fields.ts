import {
  FormatRegistry,
  type SchemaOptions,
  type StringOptions,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { maxId } from "../ids.ts";
import { hasRealDate, timestampPattern, utcTime } from "../time.ts";

/**
 * Lower-case letters that Unicode does not decompose, by the plain letters that they count as: letters whose Unicode
 * name is that of a plain letter "with" a stroke, a hook or the like, barred letters, ligatures, and four letters that
 * are commonly written with plain ones (dotless i, eth, sharp s, thorn).
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
 * - Letters without a decomposition count as plain ones (`ł` as `l`, `æ` as `ae`).
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
  // Upper case first, because several lower-case letters have the same upper-case one.
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

/** Id of a user, channel or category: a positive integer that is exact as a JSON number. */
export const Id = Type.Integer({ minimum: 1, maximum: maxId });

/** A count, from 0 on. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

// Rejects dates that do not exist, which a pattern cannot. Set first: Elysia keeps a format that is already set.
FormatRegistry.Set("date-time", hasRealDate);

/**
 * ISO 8601 in UTC or with an offset, with or without a fraction of a second, of a date that exists in the calendar.
 * `timesInUtc` converts it.
 */
export const Timestamp = Type.String({
  format: "date-time",
  pattern: timestampPattern,
  errorMessage: "must be a timestamp like 2026-01-14T16:08:06Z",
});

/** An identifier of the platform, such as that of a message. */
export const Key = Type.String({ minLength: 1, maxLength: 100 });

/** Adds a description for the API reference to a schema. */
export function about<Schema extends TSchema>(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A URL, or "" for none. */
export const Url = Type.String({ maxLength: 2048 });

/** A text that users wrote, possibly empty. */
export function text(maxLength: number, options: StringOptions) {
  return Type.String({ ...options, maxLength });
}

/** An object with exactly these fields. */
export function closed<Fields extends TProperties>(fields: Fields, options: SchemaOptions = {}) {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** An enum of strings, typed also when the list is not a literal. */
export function oneOf<Word extends string>(words: readonly Word[], options: SchemaOptions = {}) {
  return Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );
}

/** The schema or null. */
export function nullable<Schema extends TSchema>(schema: Schema, options: SchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** A name or title: one line, without control characters. */
export function oneLine(minLength: number, maxLength: number) {
  return Type.String({
    minLength,
    maxLength,
    pattern: "^[^\\u0000-\\u001f\\u007f]*$",
    errorMessage: "must be one line without control characters",
  });
}

/** A text of several lines, without NUL. */
export function multiLine(maxLength: number) {
  return Type.String({
    maxLength,
    pattern: "^[^\\u0000]*$",
    errorMessage: "must not contain a NUL character",
  });
}

/** The format of texts that can be parsed as a URL, which no pattern can check. OpenAPI documents omit it. */
export const webAddressFormat = "web-address";
FormatRegistry.Set(webAddressFormat, (text) => text === "" || URL.canParse(text));

/** An absolute http(s) address, or "" for none. */
export function webAddress() {
  return Type.String({
    maxLength: 2048,
    pattern: "^(https?://[^\\s\\u0000-\\u001f]+)?$",
    format: webAddressFormat,
    errorMessage: "must be an http or https URL",
  });
}

/**
 * The number of fields of a value, nested ones included, that its schema does not define. The value must match the
 * schema.
 */
export function unknownFields(schema: TSchema, value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(schema["anyOf"])) {
    const options = schema["anyOf"] as readonly TSchema[];
    const counts = options
      .filter((option) => holds(option, value))
      .map((option) => unknownFields(option, value));
    return counts.length === 0 ? 0 : Math.min(...counts);
  }
  let count = 0;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items) for (const item of value) count += unknownFields(items as TSchema, item);
    return count;
  }
  const properties = schema["properties"] as Readonly<Record<string, TSchema>> | undefined;
  if (!properties) return 0;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known) count += unknownFields(known, fields[name]);
    else count++;
  }
  return count;
}

const holds = (schema: TSchema, value: object) =>
  schema["type"] === (Array.isArray(value) ? "array" : "object") || Array.isArray(schema["anyOf"]);

type Convert = (value: unknown) => unknown;

const converters = new WeakMap<TSchema, Convert | null>();

/**
 * Returns a value that fits the schema with its times (`Timestamp`) in UTC, with `Z`. Changes objects and lists in
 * place, in time proportional to the parts of the value that the schema names. Supports the keywords that our own
 * schemas use.
 */
export function timesInUtc<Value>(schema: TSchema, value: Value): Value {
  const convert = converterOf(schema);
  // The conversion keeps the type: it replaces only texts by texts.
  return convert ? (convert(value) as Value) : value;
}

/** Returns the conversion for a schema; null if the schema has no times. */
function converterOf(schema: TSchema): Convert | null {
  const known = converters.get(schema);
  if (known !== undefined) return known;
  const convert = converterFor(schema);
  converters.set(schema, convert);
  return convert;
}

function converterFor(schema: TSchema): Convert | null {
  if (schema["type"] === "string" && schema["format"] === "date-time") return inUtc;
  const branches: readonly TSchema[] = schema["anyOf"] ?? [];
  const branch = branches.map(converterOf).filter((convert) => convert !== null);
  if (branch.length > 0) return (value) => branch.reduce((converted, convert) => convert(converted), value);
  const item = schema["items"] ? converterOf(schema["items"]) : null;
  const fields = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, TSchema>>)
    .map(([name, field]) => [name, converterOf(field)] as const)
    .filter((field): field is [string, Convert] => field[1] !== null);
  if (item === null && fields.length === 0) return null;
  return (value) => {
    if (item && Array.isArray(value)) for (let i = 0; i < value.length; i++) value[i] = item(value[i]);
    else if (typeof value === "object" && value !== null) convertFields(value, fields);
    return value;
  };
}

function convertFields(value: object, fields: readonly [string, Convert][]): void {
  for (const [name, convert] of fields)
    if (Object.hasOwn(value, name)) Reflect.set(value, name, convert(Reflect.get(value, name)));
}

/** Most times are in UTC already. */
function inUtc(value: unknown): unknown {
  if (typeof value !== "string" || (value.endsWith("Z") && value[10] === "T")) return value;
  return utcTime(value) ?? value;
}
