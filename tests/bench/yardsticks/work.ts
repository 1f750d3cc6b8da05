/*
 * What the servers of both stacks have in common: statements, rate limit, metrics, cursors. Plain TypeScript that Node
 * and Bun run as it is.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** Headers of every answer, as On Air sends them: their values are given by the environment, so that they stay the same. */
export const commonHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": process.env.EXPOSED_HEADERS ?? "",
};

export const pragmas = ["journal_mode = WAL", "cache_size = -65536", "mmap_size = 1073741824"];

export const statements = {
  user: "SELECT * FROM users WHERE username = ?",
  // A join instead of the inner SELECT takes five times as long here.
  token: `SELECT application_id, scopes, expires_at,
      (SELECT rate_limit FROM applications WHERE id = application_id) AS rate_limit
    FROM tokens WHERE hash = ?`,
  firstPage: "SELECT * FROM categories ORDER BY viewers DESC, id LIMIT ?",
  nextPage: `SELECT * FROM categories WHERE viewers <= ?1 AND (viewers < ?1 OR id > ?2)
    ORDER BY viewers DESC, id LIMIT ?3`,
};

export interface UserRow {
  id: number;
  username: string;
  display_name: string;
  bio: string;
  profile_picture: string | null;
  followers_count: number;
  following_count: number;
  is_verified: number;
  created_at: string;
}

export interface TokenRow {
  application_id: string;
  scopes: string;
  expires_at: number;
  rate_limit: number;
}

export interface CategoryRow {
  id: number;
  name: string;
  slug: string;
  icon: string;
  banner: string;
  viewers: number;
  tags: string;
}

export interface Budget {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetSeconds: number;
  retryAfterSeconds: number;
}

/** Token buckets, refilled evenly over a minute. */
export class RateLimiter {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  take(key: string, limit: number): Budget {
    const at = Date.now();
    const perMs = limit / 60_000;
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      bucket = { tokens: limit, at };
      this.#buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(limit, bucket.tokens + (at - bucket.at) * perMs);
    bucket.at = at;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens--;
    return {
      allowed,
      limit,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((limit - bucket.tokens) / perMs / 1000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)),
    };
  }
}

const bounds = [0.5, 1, 2.5, 5, 10, 25, 100, 500, 2500];

/** Answers by status, and a histogram of durations. */
export class Metrics {
  readonly statuses = new Map<number, number>();
  readonly durations = new Array<number>(bounds.length + 1).fill(0);
  totalMs = 0;

  count(status: number, durationMs: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    this.totalMs += durationMs;
    let at = 0;
    while (durationMs > (bounds[at] ?? Number.POSITIVE_INFINITY)) at++;
    this.durations[at] = (this.durations[at] ?? 0) + 1;
  }
}

const cursorKey = "the-cursor-key-of-the-benchmark";
const signature = (text: string) => createHmac("sha256", cursorKey).update(text).digest().subarray(0, 12);

/** An opaque cursor behind a category, which nobody can make up. */
export function cursorAfter({ viewers, id }: CategoryRow): string {
  const place = `${viewers}.${id}`;
  return `${Buffer.from(place).toString("base64url")}.${signature(place).toString("base64url")}`;
}

/** Viewers and id of the category that a cursor stands behind; null for one that is not ours. */
export function placeOf(cursor: string): [viewers: number, id: number] | null {
  const [place = "", signed = ""] = cursor.split(".").map((part) => Buffer.from(part, "base64url"));
  const text = place.toString();
  const expected = signature(text);
  if (signed.length !== expected.length || !timingSafeEqual(expected, Buffer.from(signed))) return null;
  const [viewers, id] = text.split(".").map(Number) as [number, number];
  return [viewers, id];
}
