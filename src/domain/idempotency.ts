import { idempotencyMs } from "./deliveries.ts";
import { DomainError } from "./errors.ts";
import { isoTime, minute } from "./time.ts";

/** The stored answer to a request. */
export interface KnownAnswer {
  readonly status: number;
  readonly body: string;
}

/** A stored request with an idempotency key. */
interface KnownRequest {
  readonly firstSeenAt: number;
  /** null while the request is in progress, or the process ended before the answer. */
  readonly answer: KnownAnswer | null;
}

/** A request as it is stored. */
interface StoredRequest {
  /** Empty for a key that was released because its request was refused. Any other request may use it. */
  readonly fingerprint: Buffer;
  readonly first_seen_at: number;
  readonly status: number | null;
  readonly answer: string | null;
}

/**
 * A released key keeps the time of its first request for this long. The same request may still be in progress on
 * another replica, which then uses the key, and event ids are derived from that time.
 */
const releasedMs = 10 * minute;

/** Keys first seen at or before this time can be deleted. */
export const expiredSince = (now: number) => now - idempotencyMs;

/** The fingerprint of a released key. */
export const released = Buffer.alloc(0);

/**
 * Returns the earlier request with this key; null when it has expired. Throws `conflict` when its fingerprint differs.
 */
export function knownRequest(
  stored: StoredRequest,
  key: string,
  fingerprint: Uint8Array,
  now: number,
): KnownRequest | null {
  const { first_seen_at: firstSeenAt, status, answer } = stored;
  if (stored.fingerprint.equals(released))
    return firstSeenAt > now - releasedMs ? { firstSeenAt, answer: null } : null;
  if (firstSeenAt <= expiredSince(now)) return null;
  if (!stored.fingerprint.equals(fingerprint)) {
    const since = isoTime(firstSeenAt);
    const message = `The Idempotency-Key ${key}, first used at ${since}, belongs to another body: send this one with another key`;
    throw new DomainError("conflict", message);
  }
  return { firstSeenAt, answer: status === null ? null : { status, body: answer ?? "" } };
}

/** A request that `begin` has stored. */
interface BegunRequest extends Pick<KnownRequest, "firstSeenAt"> {
  readonly key: string;
  readonly fingerprint: Uint8Array;
}

/** Requests of the admin API with an `Idempotency-Key`. */
export interface IdempotencyStore {
  /**
   * Stores a request under its key, or returns the one that was stored there within the last `idempotencyMs`. Rejects
   * with `conflict` when the key belongs to another request.
   */
  begin(key: string, fingerprint: Uint8Array, now: number): Promise<KnownRequest>;
  /**
   * Stores the answer to a request that has begun, even when the same request was released meanwhile. Resolves to false
   * when an answer to it was stored before.
   */
  finish(request: BegunRequest, answer: KnownAnswer): Promise<boolean>;
  /**
   * Frees the key of a refused request, unless the same request has an answer or the key now belongs to another
   * request. The time of its first request is kept for ten minutes. Ids of events derive from it, so a repetition that
   * another replica is processing publishes the same ids.
   */
  release(request: BegunRequest): Promise<void>;
  /** Removes some expired requests. Resolves to their number: 0 when none is left. */
  removeExpired(now: number): Promise<number>;
}
