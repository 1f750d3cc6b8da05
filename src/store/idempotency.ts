import type { KnownAnswer, KnownRequest } from "../domain/idempotency.ts";

/** Requests of the admin API that came with an `Idempotency-Key`. */
export interface IdempotencyStore {
  /**
   * Notes a request under its key, or gives what is known of it since less than `idempotencyMs`. Rejects with
   * `conflict` where the key was another request's.
   */
  begin(key: string, fingerprint: Uint8Array, now: number): Promise<KnownRequest>;
  finish(key: string, answer: KnownAnswer): Promise<void>;
  /** Forgets the request. */
  release(key: string): Promise<void>;
  /** Returns how many were removed. */
  removeExpired(now: number): Promise<number>;
}
