import type { OperatorKey } from "../domain/operator-keys.ts";

/** Sessions of the console that one key may have; a further one ends that of them which would expire first. */
export const maxOperatorSessions = 1_000;

/** A session of the console, of which the store knows the hash alone. */
interface OperatorSession {
  readonly hash: Uint8Array;
  /** Of the key that began it. */
  readonly key_id: string;
  readonly expires_at: number;
}

/** Keys of the admin API, and the sessions that begin with them. */
export interface OperatorKeyStore {
  /** The oldest first. */
  all(): Promise<OperatorKey[]>;
  /** Rejects with `conflict` where the name is taken or there are too many keys. */
  create(key: OperatorKey): Promise<void>;
  /** Keeps the key of a first start, in place of those that were never shown. */
  generate(key: OperatorKey): Promise<void>;
  markShown(id: string, now: number): Promise<void>;
  /** Ends every generated key. */
  endGenerated(): Promise<void>;
  /** Keeps this key in place of every key with the role `operator`; returns how many there were. */
  reset(key: OperatorKey): Promise<number>;
  /**
   * Ends a key and its sessions. Rejects with `not_found`, and with `conflict` where no operator key would be left, unless
   * `hasOther` says that there is one beside those in the store.
   */
  revoke(id: string, now: number, hasOther: boolean): Promise<void>;
  /** Notes the hour in which it was last used. */
  noteUse(id: string, at: number): Promise<void>;
  /** Keeps a session, and removes those that have expired. */
  beginSession(session: OperatorSession, now: number): Promise<void>;
  /** Whether a session has begun, and neither ended nor expired. */
  hasSession(hash: Uint8Array, now: number): Promise<boolean>;
  endSession(hash: Uint8Array): Promise<void>;
}
