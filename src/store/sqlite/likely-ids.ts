import { nameHash } from "../../domain/name-hash.ts";

const ways = 8;
const buckets = 2 ** 17;

/**
 * Which id a username most likely has, for a million users in 5 MB: eight to a bucket, each with 8 bits of its name's
 * hash. Nobody keeps this true: who uses it looks whether the user of that id has that name.
 *
 * Where the id is known, finding a user takes one B-tree instead of two: 4 µs instead of 7.6 among a million users.
 */
export class LikelyIds {
  /** As many as there is room for. */
  static readonly most = ways * buckets;
  readonly #ids = new Uint32Array(ways * buckets);
  /** 0: free. */
  readonly #tags = new Uint8Array(ways * buckets);

  /** @param name in whatever case */
  get(name: string): number | null {
    const hash = nameHash(name);
    const [first, tag] = [bucketOf(hash), tagOf(hash)];
    for (let at = first; at < first + ways; at++) if (this.#tags[at] === tag) return this.#ids[at] ?? null;
    return null;
  }

  /** Ids of more than 32 bits are not kept. */
  note(name: string, id: number): void {
    if (id >= 2 ** 32) return;
    const hash = nameHash(name);
    const [first, tag] = [bucketOf(hash), tagOf(hash)];
    // Who makes room is told by bits that neither bucket nor tag has: else it would always be the same in a bucket.
    let place = first + ((hash >>> 17) % ways);
    for (let at = first + ways - 1; at >= first; at--) {
      if (this.#tags[at] === 0) place = at;
    }
    for (let at = first; at < first + ways; at++) if (this.#tags[at] === tag) place = at;
    this.#tags[place] = tag;
    this.#ids[place] = id;
  }
}

const bucketOf = (hash: number) => (hash & (buckets - 1)) * ways;
const tagOf = (hash: number) => hash >>> 24 || 1;
