import { hour } from "../../domain/time.ts";

/*
 * The cookie of a signed-in page. It is accepted only in requests of the page itself, which have a header that other
 * sites cannot send together with a cookie: for scripts of other origins the listeners never allow credentials, and
 * forms cannot set headers. Other clients of the APIs must use a bearer token.
 */

/** The maximum duration of a session. */
export const sessionMs = 12 * hour;

/** The header of every request of a page; its value is how the browser got the page, `http` or `https`. */
const pageHeader = "onair-page";
const isByHttps = ({ headers }: Request) => headers.get(pageHeader) === "https";

/** Whether a request was made by a script of a page of this listener. */
export function isFromPage(request: Request): boolean {
  const { headers } = request;
  if (headers.get(pageHeader) === null) return false;
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  // Browsers omit the header if the page was loaded by http from another machine.
  const origin = headers.get("origin");
  return origin === null || (URL.canParse(origin) && new URL(origin).host === headers.get("host"));
}

/** Returns the names and values of the cookies of a request. */
export function cookiesOf({ headers }: Request): readonly (readonly [name: string, value: string])[] {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.map(([name = "", value = ""]) => [name, value]);
}

/**
 * A cookie that scripts cannot read. With https its name has the prefix that prevents other hosts of the domain from
 * setting it, and the unprefixed name is ignored: otherwise such a host could put a browser into a session of its own.
 */
export function privateCookie(plainName: string, isHttps: boolean, sameSite: "Strict" | "Lax") {
  const name = isHttps ? `__Host-${plainName}` : plainName;
  return {
    name,
    /** Returns the value in a request; null without one. */
    read: (request: Request): string | null => cookiesOf(request).find(([key]) => key === name)?.[1] ?? null,
    /** Returns the header that sets it. */
    header: (value: string, maxAgeSeconds: number) =>
      `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${isHttps ? "; Secure" : ""}`,
  };
}

/** The cookie of a page. */
export function pageCookie(name: string) {
  const cookieOf = (request: Request) => privateCookie(name, isByHttps(request), "Strict");
  return {
    /** Returns the value in a request of a page; null for any other request. */
    read: (request: Request) => (isFromPage(request) ? cookieOf(request).read(request) : null),
    /** Returns the header that sets it, for the response to a request of the page. */
    set: (request: Request, value: string, maxAgeSeconds: number) =>
      cookieOf(request).header(value, maxAgeSeconds),
    /** Returns the header that removes it. */
    clear: (request: Request) => cookieOf(request).header("", 0),
  };
}

export type PageCookie = ReturnType<typeof pageCookie>;

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

export const isAddress = (name: string) => /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);

export const isLocal = (name: string) => name === "localhost" || name.endsWith(".localhost");
