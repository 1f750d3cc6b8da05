import type { OpenApiDocument } from "../site/openapi.ts";

/** An entry of the search index: a part of a page, or an operation of the API. */
export interface Entry {
  /** The name of the page. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  /** The anchor on the page; "" for its beginning. */
  readonly anchor: string;
  readonly text: string;
}

interface Found extends Entry {
  /** The text around the first match. */
  readonly excerpt: string;
}

const maxFound = 12;
const excerptLength = 140;

/** Words that the search ignores. */
const fillers = new Set(
  "a an and are can do does for how i in is it my of on or the to what when where with".split(" "),
);

/** A word of the query, with the stem that all forms of the word have. */
interface Wanted {
  readonly word: string;
  readonly stem: string;
}

/** Returns the stem of a word: "upgrad" for "upgrade" and "upgrading". */
function wantedOf(word: string): Wanted {
  const stem = word.replace(/(?:ing|ed)$/, "").replace(/(?:ies|es|[sey])$/, "");
  return { word, stem: stem.length < 4 ? word : stem };
}

/**
 * Returns the entries that contain all words of `query`, best first: matches in headings count more than in text. A
 * word that no entry contains is taken for a typing error of the words that are most like it.
 */
export function find(entries: readonly Entry[], query: string): Found[] {
  const typed = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxWords);
  const telling = typed.filter((word) => !fillers.has(word));
  const words = (telling.length > 0 ? telling : typed).map((word) => meant(entries, word).map(wantedOf));
  if (words.length === 0) return [];
  const scored = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const all = words.flat();
  return scored.slice(0, maxFound).map(({ entry }) => ({ ...entry, excerpt: excerptOf(entry.text, all) }));
}

/** The most words of a query that count. */
const maxWords = 8;
/** Longer words have no typing errors that are looked for. */
const longestWord = 32;

/** Returns the words that a typed one may mean: itself where an entry contains it, else those that are most like it. */
function meant(entries: readonly Entry[], typed: string): readonly string[] {
  const wanted = wantedOf(typed);
  const isKnown = entries.some(({ title, heading, text }) =>
    [title, heading, text].some((part) => matches(part, wanted) > 0),
  );
  const most = typed.length < 4 || typed.length > longestWord ? 0 : typed.length < 8 ? 1 : 2;
  if (isKnown || most === 0) return [typed];
  let nearest: string[] = [];
  let least = most;
  for (const word of wordsOf(entries)) {
    if (Math.abs(word.length - typed.length) > least) continue;
    const distance = distanceOf(typed, word);
    if (distance > least) continue;
    if (distance < least) nearest = [];
    least = distance;
    nearest.push(word);
  }
  return nearest.length > 0 ? nearest : [typed];
}

const vocabularies = new WeakMap<readonly Entry[], ReadonlySet<string>>();

/** Returns the words of all entries, in which typing errors are looked up. */
function wordsOf(entries: readonly Entry[]): ReadonlySet<string> {
  const known = vocabularies.get(entries);
  if (known) return known;
  const all = entries.map(({ title, heading, text }) => `${title} ${heading} ${text}`.toLowerCase());
  const words = new Set(all.flatMap((text) => text.match(/[\p{L}\p{N}]{4,32}/gu) ?? []));
  vocabularies.set(entries, words);
  return words;
}

/**
 * The number of letters that are wrong, missing, too many or swapped with their neighbour (optimal string alignment
 * distance).
 */
function distanceOf(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, last] = [last, row];
  }
  return last[other.length] ?? 0;
}

/** @param words the alternatives for each word of the query */
function scoreOf({ title, heading, anchor, text }: Entry, words: readonly (readonly Wanted[])[]): number {
  let score = 0;
  for (const alternatives of words) {
    const found = Math.max(
      ...alternatives.map((word) => {
        const inTitle = anchor === "" ? 12 * matches(title, word) : matches(title, word);
        return inTitle + 8 * matches(heading, word) + matches(text, word);
      }),
    );
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

/** Returns 0 without a match, 1 for a match inside a word, 2 if a word begins with the stem, 3 with the word itself. */
function matches(text: string, { word, stem }: Wanted): number {
  const lower = text.toLowerCase();
  let best = lower.includes(word) ? 1 : 0;
  for (let at = lower.indexOf(stem); at !== -1; at = lower.indexOf(stem, at + 1)) {
    if (/[\p{L}\p{N}]/u.test(lower[at - 1] ?? "")) continue;
    if (lower.startsWith(word, at)) return 3;
    best = 2;
  }
  return best;
}

function excerptOf(text: string, words: readonly Wanted[]): string {
  const lower = text.toLowerCase();
  const at = Math.min(...words.map(({ stem }) => lower.indexOf(stem)).filter((at) => at !== -1), text.length);
  if (text.length <= excerptLength) return text;
  const wanted = Math.max(0, Math.min(at - 40, text.length - excerptLength));
  const start = wanted === 0 ? 0 : text.lastIndexOf(" ", wanted) + 1;
  const end = start + excerptLength;
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}

/** The operations of the API reference as entries, found by method, path, summary and description. */
export function operationsOf({ paths }: Pick<OpenApiDocument, "paths">): Entry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary, description = "" }]) => ({
      page: "api",
      title: "API reference",
      heading: `${summary} (${method.toUpperCase()} ${path})`,
      anchor: operationId,
      text: description,
    })),
  );
}
