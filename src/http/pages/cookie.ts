import { hour } from "../../domain/time.ts";

/*
 * The cookie of a signed-in page. It is accepted only in requests of the page itself, which have a header that other
 * sites cannot send: the listeners allow it for no other origin, and forms cannot set headers. Other clients of the
 * APIs must use a bearer token.
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

/** Returns the value of a cookie; null without one. */
export function cookieOf({ headers }: Request, name: string): string | null {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.find(([key]) => key === name)?.[1] ?? null;
}

/**
 * The cookie of this name. With https its name has the prefix that prevents other hosts of the domain from setting it,
 * and the unprefixed name is ignored: otherwise such a host could put a browser into a session of its own.
 */
export function pageCookie(name: string) {
  const nameFor = (request: Request) => (isByHttps(request) ? `__Host-${name}` : name);
  const cookie = (request: Request, value: string, maxAgeSeconds: number) => {
    const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
    return `${nameFor(request)}=${value}; ${attributes}${isByHttps(request) ? "; Secure" : ""}`;
  };
  return {
    /** Returns the value in a request of a page; null for any other request. */
    read: (request: Request): string | null =>
      isFromPage(request) ? cookieOf(request, nameFor(request)) : null,
    /** Returns the header that sets it, for the response to a request of the page. */
    set: cookie,
    /** Returns the header that removes it. */
    clear: (request: Request) => cookie(request, "", 0),
  };
}

export type PageCookie = ReturnType<typeof pageCookie>;
