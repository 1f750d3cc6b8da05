/** What a caller has left. */
export interface Budget {
  readonly allowed: boolean;
  /** Requests a minute. */
  readonly limit: number;
  /** Whole requests that may follow at once. */
  readonly remaining: number;
  /** Until the full limit is available again. */
  readonly resetSeconds: number;
  /** Until the next request is allowed; 0 when it is allowed now. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Token buckets, one for each key: `limit` requests at once, refilled evenly over a minute. At most `maxKeys` are
 * remembered; the one unused longest is forgotten first, which gives it a full bucket again.
 */
export function rateLimiter(now: () => number, maxKeys = 100_000) {
  const buckets = new Map<string, Bucket>();

  const bucketOf = (key: string, limit: number, at: number): Bucket => {
    let bucket = buckets.get(key);
    if (!bucket) {
      bucket = { tokens: limit, at };
      const oldest = buckets.size >= maxKeys ? buckets.keys().next().value : undefined;
      if (oldest !== undefined) buckets.delete(oldest);
      buckets.set(key, bucket);
    }
    return bucket;
  };

  return {
    /** Takes one request from the bucket of `key`. A `limit` of 0 is none at all: null. */
    take(key: string, limit: number): Budget | null {
      if (limit === 0) return null;
      const at = now();
      const bucket = bucketOf(key, limit, at);
      const perMs = limit / 60_000;
      bucket.tokens = Math.min(limit, bucket.tokens + Math.max(0, at - bucket.at) * perMs);
      bucket.at = at;
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      return {
        allowed,
        limit,
        remaining: Math.floor(bucket.tokens),
        resetSeconds: Math.ceil((limit - bucket.tokens) / perMs / 1000),
        retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)),
      };
    },
  };
}

export type RateLimiter = ReturnType<typeof rateLimiter>;
