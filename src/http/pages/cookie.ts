import { hour } from "../../domain/time.ts";

/*
 * The cookie of a signed-in page. It counts only in requests that the page itself makes, which carry a header that no
 * other site can send: the listeners allow it to no other origin, and a form cannot set headers. Of other
 * clients the APIs take a bearer token alone.
 */

/** How long a session of a page lasts at most. */
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
  // Browsers leave it out where the page came by http from another machine.
  const origin = headers.get("origin");
  return origin === null || (URL.canParse(origin) && new URL(origin).host === headers.get("host"));
}

/** The value of a cookie; null without one. */
export function cookieOf({ headers }: Request, name: string): string | null {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.find(([key]) => key === name)?.[1] ?? null;
}

/**
 * The cookie of this name. Behind https it has the prefix that keeps other hosts of the domain from setting it, and no
 * other counts: a host beside this one could else put a browser into a session of its own.
 */
export function pageCookie(name: string) {
  const nameFor = (request: Request) => (isByHttps(request) ? `__Host-${name}` : name);
  const cookie = (request: Request, value: string, maxAgeSeconds: number) => {
    const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
    return `${nameFor(request)}=${value}; ${attributes}${isByHttps(request) ? "; Secure" : ""}`;
  };
  return {
    /** The value that a request of a page carries; null for any other request. */
    read: (request: Request): string | null =>
      isFromPage(request) ? cookieOf(request, nameFor(request)) : null,
    /** The header that sets it, in the answer to a request of the page. */
    set: cookie,
    /** The headers that remove it. */
    clear: (request: Request) => cookie(request, "", 0),
  };
}

export type PageCookie = ReturnType<typeof pageCookie>;
