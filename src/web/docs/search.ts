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

export interface Found extends Entry {
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

/** Returns the entries that contain all words of `query`, best first: matches in headings count more than in text. */
export function find(entries: readonly Entry[], query: string): Found[] {
  const typed = query.toLowerCase().split(/\s+/).filter(Boolean);
  const telling = typed.filter((word) => !fillers.has(word));
  const words = (telling.length > 0 ? telling : typed).map(wantedOf);
  if (words.length === 0) return [];
  const scored = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  return scored.slice(0, maxFound).map(({ entry }) => ({ ...entry, excerpt: excerptOf(entry.text, words) }));
}

function scoreOf({ title, heading, anchor, text }: Entry, words: readonly Wanted[]): number {
  let score = 0;
  for (const word of words) {
    const inTitle = anchor === "" ? 12 * matches(title, word) : matches(title, word);
    const found = inTitle + 8 * matches(heading, word) + matches(text, word);
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

interface OpenApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { summary?: string; description?: string; tags?: readonly string[] }>>
    >
  >;
}

/** The operations of the API reference as entries, found by method, path, summary and description. */
export function operationsOf({ paths }: OpenApiDocument): Entry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary = "", description = "", tags = [] }]) => {
      const call = `${method.toUpperCase()} ${path}`;
      const tag = (tags[0] ?? "default").toLowerCase().replaceAll(" ", "-");
      return {
        page: "api",
        title: "API reference",
        heading: `${summary} (${call})`,
        anchor: `tag/${tag}/${method.toUpperCase()}${path}`,
        text: description,
      };
    }),
  );
}
