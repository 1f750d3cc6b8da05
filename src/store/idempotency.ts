import type { KnownAnswer, KnownRequest } from "../domain/idempotency.ts";

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
  /** Removes expired requests. Resolves to their number. */
  removeExpired(now: number): Promise<number>;
}
