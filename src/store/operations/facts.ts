/** A consistent snapshot of a database for health checks. Times are milliseconds since the epoch. */
export interface DatabaseFacts {
  readonly users: number;
  /** Users in the search index. */
  readonly indexedUsers: number;
  /** The private signing key in PEM (secret); null before the first start. */
  readonly signingKey: string | null;
  /** When the newest event was published; on PostgreSQL the newest entry of `delivery_times`. */
  readonly newestEventAt: number | null;
  readonly failingEndpoints: number;
  readonly disabledEndpoints: number;
  /** Some applications whose endpoint is disabled or failing, disabled ones first. */
  readonly unwellApplications: readonly string[];
  readonly pending: number;
  /** Whether counting stopped at its limit: there may be more pending deliveries, and older ones. */
  readonly isPendingPartial: boolean;
  readonly oldestPendingAt: number | null;
  /** The time since which sending is held, in ISO 8601; "" or null when it is not held. */
  readonly heldSince: string | null;
}
