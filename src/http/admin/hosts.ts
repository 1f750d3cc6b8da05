import { DomainError } from "../../domain/errors.ts";

/**
 * Checks the `Host` header against DNS rebinding, with which a page of another site resolves its own name to this
 * listener and reads its responses. IP addresses and `localhost` cannot be rebound and are accepted with any port;
 * other names must be in `names`. A request without the header is accepted, because browsers always send it; load
 * balancers that check the health by HTTP/1.0 do not.
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

/** Paths that answer to every host name. They reveal only the health of the process. */
const openToEveryHost: readonly string[] = ["/healthz", "/readyz"];

/** Throws `unknown_host` for a host that is not known. */
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
