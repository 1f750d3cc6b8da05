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
