/** Parses a base URL and returns it without a slash at its end. Throws a `TypeError` that states the valid form. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  if (plain) return url.href.replace(/\/+$/, "");
  throw new TypeError("must be an http or https URL without query, like https://api.example.com");
}
