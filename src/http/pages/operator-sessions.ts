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
 * Sessions of the console, in the store, so that each replica knows them. A session is worth as much as the operator key that
 * began it, and ends with it: the cookie names the key, and what is stored is a hash of the cookie's secret and of the key's
 * hash, so that another key under the same name, as of the environment, has no part in it.
 */
export function operatorSessions({ store, operatorKeys, now }: OperatorSessionOptions) {
  const cookie = pageCookie("onair_console");
  /** The session that a request of the page names. */
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
    /** The key of a request of the page; null without a session in force. */
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
