import { idempotencyMs } from "./deliveries.ts";
import { DomainError } from "./errors.ts";
import { isoTime } from "./time.ts";

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
  readonly fingerprint: Buffer;
  readonly first_seen_at: number;
  readonly status: number | null;
  readonly answer: string | null;
}

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
  if (firstSeenAt <= now - idempotencyMs) return null;
  if (!stored.fingerprint.equals(fingerprint)) {
    const message = `The Idempotency-Key ${key} came with another body at ${isoTime(firstSeenAt)}`;
    throw new DomainError("conflict", message);
  }
  return { firstSeenAt, answer: status === null ? null : { status, body: answer ?? "" } };
}
