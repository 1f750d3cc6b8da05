import { DomainError } from "../../domain/errors.ts";

/**
 * Whether a `Host` header names this listener. A page of another site can have its name point here (DNS rebinding), and
 * then reads what it likes, as long as the listener answers to that name. An address or `localhost` cannot be pointed
 * anywhere, so these are accepted with any port, also through a tunnel or a forwarded port; other names are those in
 * `names`. Only requests that this process makes of itself have no such header.
 */
export function knownHosts(names: readonly string[]): (host: string | null) => boolean {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return (host) => {
    if (host === null) return true;
    const name = host
      .toLowerCase()
      .replace(/:[0-9]{1,5}$/, "")
      .replace(/\.$/, "");
    return isAddress(name) || isLocal(name) || known.has(name);
  };
}

const isAddress = (name: string) => /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);

const isLocal = (name: string) => name === "localhost" || name.endsWith(".localhost");

/** What is open for whoever watches over the process, by whatever name: it says nothing but that. */
const openToEveryHost: readonly string[] = ["/healthz", "/readyz"];

/** Refuses a request whose `Host` is unknown. */
export function requireKnownHost(
  isKnown: (host: string | null) => boolean,
  path: string,
  host: string | null,
): void {
  if (isKnown(host) || openToEveryHost.includes(path)) return;
  throw new DomainError(
    "unknown_host",
    "This listener is not known by the name in the Host header. Add that name to --admin-hosts (ONAIR_ADMIN_HOSTS), or use an address",
  );
}
