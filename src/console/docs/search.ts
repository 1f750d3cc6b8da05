/** What can be found: a part of a page, or an operation of the API. */
export interface Entry {
  /** The name of the page. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  /** Where on the page; "" is its begin. */
  readonly anchor: string;
  readonly text: string;
}

export interface Found extends Entry {
  /** What stands around the first word that was looked for. */
  readonly excerpt: string;
}

const maxFound = 12;
const excerptLength = 140;

/** The entries that have every word of `query`, the best first: words of a heading count more than those of the text. */
export function find(entries: readonly Entry[], query: string): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  return scored.slice(0, maxFound).map(({ entry }) => ({ ...entry, excerpt: excerptOf(entry.text, words) }));
}

function scoreOf({ title, heading, anchor, text }: Entry, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const inTitle = anchor === "" ? 12 * matches(title, word) : matches(title, word);
    const found = inTitle + 8 * matches(heading, word) + matches(text, word);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

/** 0: it is not in there; 1: it is; 2: a word begins with it. */
function matches(text: string, word: string): number {
  const lower = text.toLowerCase();
  let isThere = false;
  for (let at = lower.indexOf(word); at !== -1; at = lower.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1] ?? "")) return 2;
    isThere = true;
  }
  return isThere ? 1 : 0;
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const at = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at !== -1), text.length);
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

/** The operations of the API reference as entries; each is found by its method, path, summary and description. */
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
