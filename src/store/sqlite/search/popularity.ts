/*
 * The order of the search index: rowid = bucket of the follower count · id of the user. `search.ts` explains why.
 */

export const exactBuckets = 256;
const bucketsPerOctave = 16;
export const lastBucket = 1023;
export const idBits = 53;

/** Returns the bucket of a follower count: 0 for the most followers. */
export function popularityBucket(followers: number): number {
  const rank =
    followers < exactBuckets
      ? followers
      : exactBuckets + Math.floor((Math.log2(followers) - Math.log2(exactBuckets)) * bucketsPerOctave);
  return lastBucket - Math.min(rank, lastBucket);
}
