/**
 * Returns a parsed JSON value as JSON with the fields of each object in one order, so that equal values have the same
 * text. Recursive: the depth of parsed JSON is limited.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) parts.push(canonicalJson(item));
    return `[${parts.join(",")}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields).sort())
    parts.push(`${JSON.stringify(name)}:${canonicalJson(fields[name])}`);
  return `{${parts.join(",")}}`;
}
