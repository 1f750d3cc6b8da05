import type { FilterChanges } from "../domain/filters.ts";
import type { WebhookHeaderChanges } from "../domain/webhook-headers.ts";
import { smallFile } from "../runtime/files.ts";

/*
 * The options of an application that say what its webhooks carry, and which events it gets.
 */

/** Whether a change has no field. */
export function isEmpty(change: Readonly<Record<string, unknown>>): boolean {
  return Object.values(change).every((value) => value === undefined);
}

const optionHelp = (option: string, text: readonly string[], column: number): string =>
  [`  ${option}`, ...text.map((line) => " ".repeat(column) + line)].join("\n");

/** Returns the lines of help for the option `--filter`, whose text begins in this column. */
export function filterHelp(column: number): string {
  const text = [
    "which events of a type it gets, as in",
    `'chat.message.sent={"content": {"$startsWith": "!"}}';`,
    "TYPE=@FILE reads the condition from a file, TYPE= removes the",
    'filter of a type, "" removes all; may be repeated',
  ];
  return optionHelp("--filter TYPE=CONDITION", text, column);
}

/** The largest file that a value of these options may name. */
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

/** Returns the lines of help for the option `--webhook-header`, whose text begins in this column. */
export function webhookHeaderHelp(column: number): string {
  const text = [
    "a header that its webhooks carry, like 'X-Key: value'; 'X-Key:'",
    'removes it, "" removes all; @FILE reads one from each line of a',
    "file, so that the list of processes has no value; may be repeated",
  ];
  return optionHelp("--webhook-header HEADER", text, column);
}

/**
 * Reads the values of `--webhook-header` as changes of an application; undefined if there are none. Mistakes never
 * repeat a value.
 */
export function readWebhookHeaders(
  texts: readonly string[] | undefined,
  mistakes: string[],
): WebhookHeaderChanges | undefined {
  if (texts === undefined) return undefined;
  if (texts.length === 1 && texts[0] === "") return null;
  const pairs = texts
    .flatMap((text) => linesOf(text, mistakes))
    .map((line) => {
      const colon = line.indexOf(":");
      if (colon < 1) mistakes.push("--webhook-header must be NAME: VALUE, NAME: to remove it, or @FILE");
      const value = line.slice(colon + 1).trim();
      return [line.slice(0, colon).trim(), value === "" ? null : value] as const;
    });
  return Object.fromEntries(pairs);
}

function linesOf(text: string, mistakes: string[]): string[] {
  if (!text.startsWith("@")) return [text];
  const path = text.slice(1);
  try {
    return smallFile(path, mostFileBytes)
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    mistakes.push(`--webhook-header names ${path}, which ${error.message}`);
    return [];
  }
}

/** Returns masked headers as text for people. */
export function webhookHeadersText(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ");
}
