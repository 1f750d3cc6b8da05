/** What was answered to a request. */
export interface KnownAnswer {
  readonly status: number;
  readonly body: string;
}

/** A request that came with a key, now or before. */
export interface KnownRequest {
  readonly firstSeenAt: number;
  /** null: it was not answered yet, or the process ended before it was. */
  readonly answer: KnownAnswer | null;
}
