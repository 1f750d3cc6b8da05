import type { OperatorKey } from "../../domain/operator-keys.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import type { OperatorKeys } from "../admin/operator-keys.ts";
import { pageCookie, sessionMs } from "./cookie.ts";

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
