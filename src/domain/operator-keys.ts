import { DomainError } from "./errors.ts";
import { newId } from "./ids.ts";
import { hour } from "./time.ts";
import { newSecret, secretHash } from "./tokens.ts";

/** The role of an operator key. */
export const roles = ["operator", "publisher", "reader"] as const;
export type Role = (typeof roles)[number];

/** `generated`: made by the first start. `environment`: set by `ONAIR_ADMIN_KEY`, never stored. */
export const keySources = ["generated", "created", "environment"] as const;
export type KeySource = (typeof keySources)[number];

/** A key of the admin API. Times are milliseconds since the epoch. */
export interface OperatorKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly source: KeySource;
  /** SHA-256 of the key, in base64. */
  readonly hash: string;
  /** The first characters of the key, for identification; empty for a key from the environment. */
  readonly prefix: string;
  readonly created_at: number;
  /** null when it does not expire. */
  readonly expires_at: number | null;
  /** The hour of the last use; null when it was never used. */
  readonly last_used_at: number | null;
  /** null when the start that made the key ended before showing it. */
  readonly shown_at: number | null;
}

export const operatorKeyLimits = { keys: 100, maxExpirySeconds: 10 * 366 * 24 * 3_600 } as const;

const prefixLength = "onair_admin_".length + 4;

/** A new key and its record. */
export function newOperatorKey(of: {
  readonly name: string;
  readonly role: Role;
  readonly source: OperatorKey["source"];
  readonly now: number;
  readonly expiresAt?: number | null;
}): { readonly secret: string; readonly key: OperatorKey } {
  const secret = newSecret("onair_admin_");
  const key: OperatorKey = {
    id: newId(),
    name: of.name,
    role: of.role,
    source: of.source,
    hash: secretHash(secret).toString("base64"),
    prefix: secret.slice(0, prefixLength),
    created_at: of.now,
    expires_at: of.expiresAt ?? null,
    last_used_at: null,
    shown_at: of.source === "generated" ? null : of.now,
  };
  return { secret, key };
}

/** Whether a key is valid at a time. */
export function isInForce({ expires_at }: OperatorKey, now: number): boolean {
  return expires_at === null || expires_at > now;
}

/** Whether a generated key was never shown; such a key is useless. */
export function isUnshown({ source, shown_at }: OperatorKey): boolean {
  return source === "generated" && shown_at === null;
}

/** Whether one of the keys is a valid operator key. */
export function hasOperator(keys: readonly OperatorKey[], now: number): boolean {
  return keys.some((key) => key.role === "operator" && isInForce(key, now) && !isUnshown(key));
}

/** Whether a start must generate a key: no operator key was ever shown. `wasSet`: the environment once had a key. */
export function needsFirstKey(keys: readonly OperatorKey[], wasSet: boolean): boolean {
  return !wasSet && !keys.some((key) => key.role === "operator" && !isUnshown(key));
}

/** The hour to store as the last use in place of the stored hour; null when it is the same. */
export function newLastUse(stored: OperatorKey["last_used_at"], now: number): number | null {
  const current = Math.floor(now / hour) * hour;
  return stored === null || stored < current ? current : null;
}

/** Throws `conflict` when there are too many keys for a new key, or its name is in use. */
export function checkNewKey(keys: readonly OperatorKey[], { name }: OperatorKey): void {
  const { keys: most } = operatorKeyLimits;
  if (keys.length >= most) {
    throw new DomainError("conflict", `There are ${most} keys, which is the limit; revoke one`);
  }
  if (!keys.some((key) => key.name === name)) return;
  throw new DomainError("conflict", "There is a key with this name; revoke it or choose another");
}

/**
 * Throws when a key may not be revoked: `not_found`, and `conflict` when no operator key would be left, unless
 * `hasOther` says that another operator key exists outside of `keys`.
 */
export function checkRevocation(
  keys: readonly OperatorKey[],
  id: string,
  now: number,
  hasOther: boolean,
): void {
  const others = keys.filter((key) => key.id !== id);
  if (others.length === keys.length) throw new DomainError("not_found", "There is no key with this id");
  if (hasOperator(keys, now) && !hasOperator(others, now) && !hasOther) {
    throw new DomainError("conflict", "This is the last operator key; create another one first");
  }
}

/** The most console sessions of one key. Above this, a new session ends the one that would expire first. */
export const maxOperatorSessions = 1_000;

/** A session of the console. The store has only the hash of its secret. */
interface OperatorSession {
  readonly hash: Uint8Array;
  /** The operator key that the session was begun with. */
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
  /** Replaces all keys with the role `operator` by this key. Resolves to their number. */
  reset(key: OperatorKey): Promise<number>;
  /**
   * Removes a key and its sessions. Rejects with `not_found`, and with `conflict` when no operator key would be left,
   * unless `hasOther` says that there is such a key outside the store.
   */
  revoke(id: string, now: number, hasOther: boolean): Promise<void>;
  /** Stores the hour of the last use. */
  noteUse(id: string, at: number): Promise<void>;
  /** Stores a session and removes expired sessions. */
  beginSession(session: OperatorSession, now: number): Promise<void>;
  /** Whether a session exists and has not expired. */
  hasSession(hash: Uint8Array, now: number): Promise<boolean>;
  endSession(hash: Uint8Array): Promise<void>;
}
