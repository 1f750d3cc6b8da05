import type { WebhookHeaderChanges } from "../domain/webhook-headers.ts";
import { smallFile } from "../runtime/files.ts";

/** Returns the lines of help for the option `--webhook-header`, whose text begins in this column. */
export function webhookHeaderHelp(column: number): string {
  const text = [
    "a header that its webhooks carry, like 'X-Key: value'; 'X-Key:'",
    'removes it, "" removes all; @FILE reads one from each line of a',
    "file, so that the list of processes has no value; may be repeated",
  ];
  return ["  --webhook-header HEADER", ...text.map((line) => " ".repeat(column) + line)].join("\n");
}

const mostFileBytes = 65_536;

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
