import { LRUCache } from "lru-cache";
import type { OperatorKey } from "../../domain/operator-keys.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import type { OperatorKeys } from "../admin/operator-keys.ts";
import { pageCookie, sessionMs } from "./cookie.ts";

/** The oldest sessions end when there are more. */
const maxSessions = 1_000;

interface Session {
  readonly keyId: string;
  readonly expiresAt: number;
}

interface OperatorSessionOptions {
  readonly operatorKeys: Pick<OperatorKeys, "byId">;
  readonly now: () => number;
}

/**
 * Sessions of the console, in memory by the hash of their secret: a restart ends them. A session is worth as much as the
 * operator key that began it, and ends with it.
 */
export function operatorSessions({ operatorKeys, now }: OperatorSessionOptions) {
  const cookie = pageCookie("onair_console");
  const sessions = new LRUCache<string, Session>({ max: maxSessions });
  const idOf = (secret: string) => secretHash(secret).toBase64();
  return {
    /** Begins a session and returns the cookie that carries it. */
    begin(request: Request, key: OperatorKey): string {
      const secret = newSecret("onair_os_");
      sessions.set(idOf(secret), { keyId: key.id, expiresAt: now() + sessionMs });
      return cookie.set(request, secret, sessionMs / 1000);
    },
    /** The key of a request of the page; null without a session in force. */
    keyOf(request: Request): OperatorKey | null {
      const secret = cookie.read(request);
      const session = secret === null ? undefined : sessions.get(idOf(secret));
      return session && session.expiresAt > now() ? operatorKeys.byId(session.keyId) : null;
    },
    /** Ends the session of a request and returns the cookie that removes it from the browser. */
    end(request: Request): string {
      const secret = cookie.read(request);
      if (secret !== null) sessions.delete(idOf(secret));
      return cookie.clear(request);
    },
  };
}

export type OperatorSessions = ReturnType<typeof operatorSessions>;
