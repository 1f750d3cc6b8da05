import type { OperatorKey } from "../domain/operator-keys.ts";

/** The most console sessions of one key. Above this, a new session ends the one that would expire first. */
export const maxOperatorSessions = 1_000;

/** A session of the console. The store has only the hash of its secret. */
interface OperatorSession {
  readonly hash: Uint8Array;
  /** The key that it was begun with. */
  readonly key_id: string;
  readonly expires_at: number;
}

/** Keys of the admin API, and the console sessions that were begun with them. */
export interface OperatorKeyStore {
  /** All keys, oldest first. */
  all(): Promise<OperatorKey[]>;
  /** Rejects with `conflict` when the name is taken or there are too many keys. */
  create(key: OperatorKey): Promise<void>;
  /** Stores the key of a first start. Replaces generated keys that were never shown. */
  generate(key: OperatorKey): Promise<void>;
  markShown(id: string, now: number): Promise<void>;
  /** Removes every generated key. */
  endGenerated(): Promise<void>;
  /** Replaces all keys with the role `operator` by this one. Resolves to their number. */
  reset(key: OperatorKey): Promise<number>;
  /**
   * Removes a key and its sessions. Rejects with `not_found`, and with `conflict` when no operator key would be left,
   * unless `hasOther` says that there is one outside the store.
   */
  revoke(id: string, now: number, hasOther: boolean): Promise<void>;
  /** Stores the hour of the last use. */
  noteUse(id: string, at: number): Promise<void>;
  /** Stores a session and removes expired ones. */
  beginSession(session: OperatorSession, now: number): Promise<void>;
  /** Whether a session exists and has not expired. */
  hasSession(hash: Uint8Array, now: number): Promise<boolean>;
  endSession(hash: Uint8Array): Promise<void>;
}
