import type { OperatorKey } from "../../domain/operator-keys.ts";
import type { Store } from "../../domain/store.ts";
import { hour } from "../../domain/time.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import type { OperatorKeys } from "../admin/operator-keys.ts";

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

interface OperatorSessionOptions {
  readonly store: Pick<Store, "operatorKeys">;
  readonly operatorKeys: Pick<OperatorKeys, "byId">;
  readonly now: () => number;
}

/**
 * Sessions of the console, kept in the store, so that every replica knows them. A session has the role of the operator
 * key that began it, and ends with it. The cookie names the key. The store has a hash of the cookie's secret and the
 * key's hash, so that a session does not continue with another key of the same id, as after `ONAIR_ADMIN_KEY` is
 * changed.
 */
export function operatorSessions({ store, operatorKeys, now }: OperatorSessionOptions) {
  const cookie = pageCookie("onair_console");
  /** Returns the session that a request of the page names; null without one. */
  const sessionOf = (request: Request): { readonly key: OperatorKey; readonly hash: Uint8Array } | null => {
    const value = cookie.read(request);
    const key = value === null ? null : operatorKeys.byId(value.slice(value.indexOf(".") + 1));
    return key && { key, hash: secretHash(value + key.hash) };
  };
  return {
    /** Begins a session and returns the cookie that carries it. */
    async begin(request: Request, key: OperatorKey): Promise<string> {
      const value = `${newSecret("onair_os_")}.${key.id}`;
      const at = now();
      const session = { hash: secretHash(value + key.hash), key_id: key.id, expires_at: at + sessionMs };
      await store.operatorKeys.beginSession(session, at);
      return cookie.set(request, value, sessionMs / 1000);
    },
    /** Returns the key of a request of the page; null without a valid session. */
    async keyOf(request: Request): Promise<OperatorKey | null> {
      const session = sessionOf(request);
      return session && (await store.operatorKeys.hasSession(session.hash, now())) ? session.key : null;
    },
    /** Ends the session of a request and returns the cookie that removes it from the browser. */
    async end(request: Request): Promise<string> {
      const session = sessionOf(request);
      if (session) await store.operatorKeys.endSession(session.hash);
      return cookie.clear(request);
    },
  };
}

export type OperatorSessions = ReturnType<typeof operatorSessions>;
