import { LRUCache } from "lru-cache";
import { DomainError } from "../../domain/errors.ts";
import type { Share } from "../../domain/replicas.ts";
import type { RateShares } from "../../postgres/rate-shares.ts";

/** The state of a rate limit after a request. */
export interface RateLimitState {
  readonly allowed: boolean;
  /** Requests per minute. */
  readonly limit: number;
  /** Requests that may be made now. */
  readonly remaining: number;
  /** Seconds until the full limit is available again. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed; 0 when it is allowed now. */
  readonly retryAfterSeconds: number;
}

/**
 * Throws `rate_limited` if a request exceeds a limit.
 * @param state the result of `take`
 * @param what the limited items, if they are not the requests that the response headers count
 */
export function requireWithinLimit(state: RateLimitState | null, what?: string): void {
  if (state === null || state.allowed) return;
  const { limit, retryAfterSeconds } = state;
  const many = what === undefined ? "requests" : `${what} (at most ${limit} a minute)`;
  const seconds = retryAfterSeconds === 1 ? "1 second" : `${retryAfterSeconds} seconds`;
  throw new DomainError("rate_limited", `Too many ${many}; try again in ${seconds}`, { retryAfterSeconds });
}

/** The key of a bucket, and its requests per minute; 0 means no limit. */
export type LimitedBy = readonly [key: string, limit: number];

interface Bucket {
  /** Requests taken and not yet refilled, so that a changed limit applies from the next request on. */
  taken: number;
  /** The time of the last request, in milliseconds since the epoch. */
  at: number;
  /** The limit at that time; 0 before the first request. */
  limit: number;
}

/**
 * The number of buckets in memory. The least recently used one is dropped; after a minute without requests it would be
 * full.
 */
const maxBuckets = 65_536;

/**
 * With replicas, the part of a limit by which their common usage may exceed it before they have reported it to each
 * other. The excess must be refilled before the next request is allowed.
 */
const mostDebt = 0.25;

/**
 * Token buckets by key: `limit` requests at once, refilled evenly over a minute.
 * @param shares reports the usage to other replicas; null if there are none
 */
export function rateLimiter(now: () => number, shares: RateShares | null = null) {
  const fullest = shares ? 1 + mostDebt : 1;
  const buckets = new LRUCache<string, Bucket>({ max: maxBuckets });

  /** Returns the bucket of `key`, refilled up to now. */
  const bucketOf = (key: string, limit: number): Bucket => {
    const at = now();
    const known = buckets.get(key);
    const bucket = known ?? { taken: 0, at, limit: 0 };
    if (!known) buckets.set(key, bucket);
    bucket.taken = takenAt(bucket, limit, at);
    bucket.at = at;
    return bucket;
  };

  /** Takes one request from the bucket of `key`. Returns null for a `limit` of 0, which means no limit. */
  const take = (key: string, limit: number): RateLimitState | null => {
    if (limit === 0) return null;
    const perMs = limit / 60_000;
    const bucket = bucketOf(key, limit);
    const most = bucket.limit === limit ? limit * fullest : limit;
    const left = Math.min(most, bucket.taken);
    const allowed = left <= limit - 1;
    const taken = allowed ? left + 1 : left;
    bucket.taken = taken;
    bucket.limit = limit;
    if (allowed) shares?.count(key, limit, 1);
    return {
      allowed,
      limit,
      remaining: Math.max(0, Math.floor(limit - taken)),
      resetSeconds: Math.ceil(taken / perMs / 1000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((taken + 1 - limit) / perMs / 1000)),
    };
  };

  /** Puts back one request that was taken with the same `key` and `limit`. */
  const giveBack = (key: string, limit: number): void => {
    const bucket = limit === 0 ? undefined : buckets.get(key);
    if (!bucket) return;
    bucket.taken = Math.max(0, bucket.taken - 1);
    shares?.count(key, limit, -1);
  };

  return {
    take,
    giveBack,
    /**
     * Takes one request from each of several buckets, or from none if one of them is empty. Returns the state of the
     * empty one, else of the one with the least left; null if none has a limit.
     */
    takeEach(several: readonly LimitedBy[]): RateLimitState | null {
      let least: RateLimitState | null = null;
      for (const [i, [key, limit]] of several.entries()) {
        const state = take(key, limit);
        if (state === null) continue;
        if (!state.allowed) {
          for (const [taken, ofTaken] of several.slice(0, i)) giveBack(taken, ofTaken);
          return state;
        }
        if (least === null || state.remaining < least.remaining) least = state;
      }
      return least;
    },
    /** Returns the current state of the bucket of `key` without taking from it; null for a `limit` of 0. */
    look(key: string, limit: number): Pick<RateLimitState, "limit" | "remaining"> | null {
      if (limit === 0) return null;
      const bucket = buckets.peek(key);
      const taken = bucket ? Math.min(limit, takenAt(bucket, limit, now())) : 0;
      return { limit, remaining: Math.floor(limit - taken) };
    },
    /** Counts requests that another replica reported; a negative count gives back. */
    takenElsewhere([key, limit, count]: Share): void {
      const bucket = bucketOf(key, limit);
      bucket.taken = Math.min(limit * fullest, Math.max(0, bucket.taken + count));
      bucket.limit = limit;
    },
  };
}

/** Returns the number of requests that are not yet refilled at a time. */
function takenAt({ taken, at: last }: Bucket, limit: number, at: number): number {
  return Math.max(0, taken - Math.max(0, at - last) * (limit / 60_000));
}

export type RateLimiter = ReturnType<typeof rateLimiter>;
