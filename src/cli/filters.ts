import type { FilterChanges } from "../domain/filters.ts";
import { smallFile } from "../runtime/files.ts";

/** Returns the lines of help for the option `--filter`, whose text begins in this column. */
export function filterHelp(column: number): string {
  const text = [
    "which events of a type it gets, as in",
    `'chat.message.sent={"content": {"$startsWith": "!"}}';`,
    "TYPE=@FILE reads the condition from a file, TYPE= removes the",
    'filter of a type, "" removes all; may be repeated',
  ];
  return ["  --filter TYPE=CONDITION", ...text.map((line) => " ".repeat(column) + line)].join("\n");
}

const mostFileBytes = 65_536;

/** Reads the values of `--filter` as changes of an application; undefined if there are none. */
export function readFilters(
  texts: readonly string[] | undefined,
  mistakes: string[],
): FilterChanges | undefined {
  if (texts === undefined) return undefined;
  if (texts.length === 1 && texts[0] === "") return null;
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf("=");
      if (equals < 1) mistakes.push("--filter must be TYPE=CONDITION, TYPE=@FILE, or TYPE= to remove it");
      const type = text.slice(0, equals).trim();
      return [type, conditionOf(type, text.slice(equals + 1).trim(), mistakes)];
    }),
  );
}

function conditionOf(type: string, text: string, mistakes: string[]) {
  if (text === "") return null;
  try {
    const json = text.startsWith("@") ? smallFile(text.slice(1), mostFileBytes) : text;
    const condition: unknown = JSON.parse(json);
    if (typeof condition === "object" && condition !== null) return condition as Record<string, unknown>;
    mistakes.push(`--filter ${type} must be an object`);
  } catch (error) {
    if (error instanceof TypeError)
      mistakes.push(`--filter ${type} names ${text.slice(1)}, which ${error.message}`);
    else if (error instanceof SyntaxError) mistakes.push(`--filter ${type} must be JSON: ${error.message}`);
    else throw error;
  }
  return null;
}

/** Returns filters as text for people, each with the time since which it is in force; "none" without one. */
export function filtersText(
  filters: Readonly<Record<string, unknown>>,
  setAt: Readonly<Record<string, string>> = {},
): string {
  const texts = Object.entries(filters).map(([type, condition]) => {
    const since = setAt[type] === undefined ? "" : ` since ${setAt[type]}`;
    return `${type}=${JSON.stringify(condition)}${since}`;
  });
  return texts.join(", ") || "none";
}
