import { idempotencyMs } from "./deliveries.ts";
import { DomainError } from "./errors.ts";
import { isoTime, minute } from "./time.ts";

/** The stored answer to a request. */
export interface KnownAnswer {
  readonly status: number;
  readonly body: string;
}

/** A stored request with an idempotency key. */
export interface KnownRequest {
  readonly firstSeenAt: number;
  /** null when the request is under way, or the process ended before the answer. */
  readonly answer: KnownAnswer | null;
}

/** A request as it is stored. */
interface StoredRequest {
  /** Empty where the key was released, because the request was refused: then any other may have it. */
  readonly fingerprint: Buffer;
  /** Of a released key, earlier by `idempotencyMs`: replicas of an earlier version take it for one that has expired. */
  readonly first_seen_at: number;
  readonly status: number | null;
  readonly answer: string | null;
}

/**
 * For so long a key that was released keeps the time of its first request: the same one may be under way yet at another
 * replica, which takes it, and the ids of the events follow from that time.
 */
const releasedMs = 10 * minute;

/** What was first seen then, or earlier, is of no use any more. */
export const expiredSince = (now: number) => now - idempotencyMs - releasedMs;

/** The fingerprint of a released key. */
export const released = Buffer.alloc(0);

/**
 * What is known of the request of a key; null when it is too long ago. Throws `conflict` when the fingerprint is another
 * one.
 */
export function knownRequest(
  stored: StoredRequest,
  key: string,
  fingerprint: Uint8Array,
  now: number,
): KnownRequest | null {
  const { first_seen_at: firstSeenAt, status, answer } = stored;
  if (stored.fingerprint.equals(released)) {
    const isKept = firstSeenAt > expiredSince(now);
    return isKept ? { firstSeenAt: firstSeenAt + idempotencyMs, answer: null } : null;
  }
  if (firstSeenAt <= now - idempotencyMs) return null;
  if (!stored.fingerprint.equals(fingerprint)) {
    const message = `The Idempotency-Key ${key} came with another body at ${isoTime(firstSeenAt)}`;
    throw new DomainError("conflict", message);
  }
  return { firstSeenAt, answer: status === null ? null : { status, body: answer ?? "" } };
}
