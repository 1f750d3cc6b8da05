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

/** The key of a bucket as two numbers, and where the bucket was seen last. */
interface Place {
  readonly low: number;
  readonly high: number;
  bucket: number;
}

const sets = 2 ** 13;
const ways = 8;
const buckets = sets * ways;
const seedsAt = 0;
const locksAt = 2;
const keysAt = locksAt + sets;
const levelsAt = 4 * (keysAt + 2 * buckets);

/** Places that a thread remembers. */
const mostPlaces = 50_000;

/** Memory for a `rateLimiter`, which threads can share. */
export function limiterMemory(isShared = false): ArrayBufferLike {
  const bytes = levelsAt + 8 * 2 * buckets;
  const memory = isShared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  // Nobody outside shall be able to choose addresses that share a bucket.
  const seeds = crypto.getRandomValues(new Int32Array(2));
  new Int32Array(memory).set(seeds, seedsAt);
  return memory;
}

/**
 * Token buckets, one for each key: `limit` requests at once, refilled evenly over a minute. A bucket keeps what was taken,
 * not what is left, so that another limit holds from the next request on. There are 65,536 of them, in
 * sets of 8 by the hash of their key; where a set is full, the one left alone for longest is given away, which nobody
 * notices when that was a minute. With the same `memory`, the limiters of several threads take from the same buckets.
 */
export function rateLimiter(now: () => number, memory: ArrayBufferLike = limiterMemory()) {
  const words = new Int32Array(memory, 0, levelsAt / 4);
  const [seed = 0, otherSeed = 0] = words.subarray(seedsAt, locksAt);
  /** Of each bucket what was taken of it, and when. */
  const levels = new Float64Array(memory, levelsAt);
  const places = new Map<string, Place>();
  const isShared = memory instanceof SharedArrayBuffer;

  const placeOf = (key: string): Place => {
    const known = places.get(key);
    if (known) return known;
    if (places.size >= mostPlaces) places.clear();
    const high = Bun.hash.xxHash32(key, otherSeed >>> 0) | 0;
    // Never 0, which is a bucket without a key.
    const place = { low: Bun.hash.xxHash32(key, seed >>> 0) | 1, high, bucket: (high >>> 19) * ways };
    places.set(key, place);
    return place;
  };

  const holds = (bucket: number, { low, high }: Place) =>
    words[keysAt + 2 * bucket] === low && words[keysAt + 2 * bucket + 1] === high;

  /** To be called with the lock of its set: has `place` say where the bucket is, a full one where there was none. */
  const find = (place: Place): void => {
    const first = place.bucket & -ways;
    let oldest = first;
    for (let bucket = first; bucket < first + ways; bucket++) {
      if (holds(bucket, place)) {
        place.bucket = bucket;
        return;
      }
      if ((levels[2 * bucket + 1] ?? 0) < (levels[2 * oldest + 1] ?? 0)) oldest = bucket;
    }
    place.bucket = oldest;
    words[keysAt + 2 * oldest] = place.low;
    words[keysAt + 2 * oldest + 1] = place.high;
    levels[2 * oldest] = 0;
    levels[2 * oldest + 1] = now();
  };

  return {
    /** Takes one request from the bucket of `key`. A `limit` of 0 is none at all: null. */
    take(key: string, limit: number): Budget | null {
      if (limit === 0) return null;
      const place = placeOf(key);
      const perMs = limit / 60_000;
      const lock = locksAt + (place.bucket >>> 3);
      if (isShared) acquire(words, lock);
      if (!holds(place.bucket, place)) find(place);
      const { bucket } = place;
      // With the lock, so that it does not step back from one thread to the next.
      const at = now();
      const passedMs = Math.max(0, at - (levels[2 * bucket + 1] ?? 0));
      let taken = Math.min(limit, Math.max(0, (levels[2 * bucket] ?? 0) - passedMs * perMs));
      const allowed = taken <= limit - 1;
      if (allowed) taken += 1;
      levels[2 * bucket] = taken;
      levels[2 * bucket + 1] = at;
      if (isShared) Atomics.store(words, lock, 0);
      return {
        allowed,
        limit,
        remaining: Math.floor(limit - taken),
        resetSeconds: Math.ceil(taken / perMs / 1000),
        retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((taken + 1 - limit) / perMs / 1000)),
      };
    },
    /** Puts back one request that was taken with the same `key` and `limit`. */
    giveBack(key: string, limit: number): void {
      if (limit === 0) return;
      const place = placeOf(key);
      const lock = locksAt + (place.bucket >>> 3);
      if (isShared) acquire(words, lock);
      if (holds(place.bucket, place)) {
        levels[2 * place.bucket] = Math.max(0, (levels[2 * place.bucket] ?? 0) - 1);
      }
      if (isShared) Atomics.store(words, lock, 0);
    },
  };
}

export type RateLimiter = ReturnType<typeof rateLimiter>;

/** Who holds a lock gives it back within a microsecond, unless the kernel has another thread run meanwhile. */
const patience = 1_000;

function acquire(words: Int32Array, lock: number): void {
  for (let tries = 1; Atomics.compareExchange(words, lock, 0, 1) !== 0; tries++) {
    if (tries % patience === 0) Atomics.wait(words, lock, 1, 1);
  }
}
