/** Webhook headers as the lines of a text field, with masked values. */

export const webhookHeadersHint =
  "Sent with every webhook, such as the key of a gateway: Name: value, one per line. Saved values are masked; a line with a masked value keeps it. A webhook URL of another origin needs all of them again.";

const isMasked = (value: string) => /^•+$/.test(value);

/** Returns headers, by name, as lines. */
export function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** The saved headers by name, and the webhook URL before and after the change. */
interface SavedHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly url: string | null;
  readonly nextUrl: string;
}

/**
 * Returns the changes that lines make to saved headers: new values by name, and null for headers without a line. Masked
 * values are no changes, unless the URL is of another origin: then they are included, and the API refuses them.
 */
export function headerChanges(
  lines: string,
  { headers: saved, url, nextUrl }: SavedHeaders,
): Record<string, string | null> {
  const pairs = lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line): [name: string, value: string] => {
      const [, name = line.trim(), value = ""] = /^([^:]*):(.*)$/.exec(line) ?? [];
      return [name.trim(), value.trim()];
    });
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  const removed = Object.keys(saved).filter((name) => !names.has(name.toLowerCase()));
  const isSameOrigin = URL.parse(url ?? "")?.origin === URL.parse(nextUrl)?.origin;
  const isKept = ([name, value]: [string, string]) => isSameOrigin && name in saved && isMasked(value);
  return Object.fromEntries<string | null>([
    ...removed.map((name): [string, null] => [name, null]),
    ...pairs.filter((one) => !isKept(one)),
  ]);
}
