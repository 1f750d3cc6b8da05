/** What a database tells of itself at one moment, for a look at whether it is well. Times are milliseconds since the epoch. */
export interface DatabaseFacts {
  readonly users: number;
  /** In the index of the search. */
  readonly indexedUsers: number;
  /** In PEM: a secret. null before the first start. */
  readonly signingKey: string | null;
  /** When the newest event was published, in milliseconds. */
  readonly newestEventAt: number | null;
  readonly failingEndpoints: number;
  readonly disabledEndpoints: number;
  /** Some applications whose endpoint fails or is disabled, the latter first. */
  readonly unwellApplications: readonly string[];
  readonly pending: number;
  /** There may be more of them, and older ones. */
  readonly isPendingPartial: boolean;
  readonly oldestPendingAt: number | null;
  /** Since when nothing is sent, in ISO 8601; "" or null: it is. */
  readonly heldSince: string | null;
}
