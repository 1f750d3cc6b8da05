import type { KnownAnswer, KnownRequest } from "../domain/idempotency.ts";

/** A request that `begin` has noted. */
interface BegunRequest extends Pick<KnownRequest, "firstSeenAt"> {
  readonly key: string;
  readonly fingerprint: Uint8Array;
}

/** Requests of the admin API that came with an `Idempotency-Key`. */
export interface IdempotencyStore {
  /**
   * Notes a request under its key, or gives what is known of it since less than `idempotencyMs`. Rejects with
   * `conflict` where the key was another request's.
   */
  begin(key: string, fingerprint: Uint8Array, now: number): Promise<KnownRequest>;
  /**
   * Keeps the answer of a request that has begun, also where the same request was released meanwhile. Returns false
   * where the same request was answered before it.
   */
  finish(request: BegunRequest, answer: KnownAnswer): Promise<boolean>;
  /**
   * Frees the key of a request that was refused, unless the same request has an answer, or the key is another request's by now.
   * For a while it keeps the time of its first request, so that the same request has the same ids, whoever takes it.
   */
  release(request: BegunRequest): Promise<void>;
  /** Returns how many were removed. */
  removeExpired(now: number): Promise<number>;
}
