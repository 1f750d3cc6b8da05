import type { ClientType } from "./applications.ts";

/** The loopback interface, where a native application may use any port (RFC 8252, section 7.3). */
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:[0-9]{1,5})?(?=[/?]|$)/;
const ownMachine = "127.0.0.1, [::1] or localhost";

/**
 * The problem of a redirect URI to be registered, or null. Allowed are https everywhere, http on loopback, and for
 * public clients private schemes with a dot (RFC 8252, section 7.1), which excludes `javascript:` and the like. A
 * fragment is never allowed (RFC 6749, section 3.1.2).
 */
export function redirectUriProblem(uri: string, clientType: ClientType): string | null {
  if (!/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) return "must be an absolute URI";
  if (uri.includes("#")) return "must not have a fragment";
  const { protocol, username, password } = new URL(uri);
  if (username || password) return "must not have a user name or password";
  if (protocol === "https:") return /^https:\/\/[^/\\]/i.test(uri) ? null : "must be an absolute URI";
  if (protocol === "http:" && loopback.test(uri)) return null;
  if (clientType === "confidential") return `must be https, or http on ${ownMachine}`;
  if (protocol.includes(".")) return null;
  return `must be https, http on ${ownMachine}, or of a private-use scheme like com.example.app:/callback`;
}

/**
 * Whether a redirect URI is registered: compared character by character (RFC 9700, section 2.1), except that a public
 * client may use any port of a loopback address.
 */
export function isRegistered(
  uri: string,
  {
    redirect_uris,
    client_type,
  }: { readonly redirect_uris: readonly string[]; readonly client_type: ClientType },
): boolean {
  if (redirect_uris.includes(uri)) return true;
  if (client_type !== "public" || !loopback.test(uri) || redirectUriProblem(uri, client_type)) return false;
  const anyPort = (one: string) => (loopback.test(one) ? one.replace(loopback, "http://$1") : null);
  return redirect_uris.some((registered) => anyPort(registered) === anyPort(uri));
}

/**
 * Whether a stored consent applies to the next request. Not for a public client without https, which any program on the
 * user's device could impersonate (RFC 8252, section 8.6).
 */
export function mayReuseConsent(uri: string, clientType: ClientType): boolean {
  return clientType === "confidential" || uri.startsWith("https://");
}

/** Appends the parameters of an answer to the redirect URI and keeps its query (RFC 6749, section 3.1.2). */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null);
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams(given)}`;
}
