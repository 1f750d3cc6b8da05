import { nameHash } from "../../domain/name-hash.ts";

/** What is kept under a name. */
export interface KeptBytes {
  readonly id: number;
  /** Of the state in which it was kept: a whole number of 32 bits. */
  readonly stamp: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const segmentCount = 32;

/** Of a segment that is cleaned this part is free afterwards at the least, so that one cleaning makes room. */
const freed = 1 / 8;

/*
 * A record is a head of 24 bytes, the name and the bytes, and begins at a multiple of 8. The head holds the id (a
 * Float64) and, as Int32: the stamp, the hash of the name, the length of the name, and that of the bytes. The length of
 * the name is negative (-1 for 0) once somebody has asked for it.
 */
const headBytes = 24;
const stampAt = 2;
const hashAt = 3;
const nameAt = 4;
const bytesAt = 5;

/** What a record takes at the least, which bounds their number. Profiles are longer. */
const leastRecordBytes = 256;

/**
 * Bytes by name in one piece of memory of a fixed size, a ring of segments. When one is full the oldest is cleaned and
 * filled anew: who was asked for since it was last cleaned stays (the CLOCK algorithm, for a segment at a time). Once all
 * is full, a name is kept when it comes for the second time before some thousands of others came, so that those
 * who are asked for once do not drive out the others.
 *
 * A piece of memory instead of a `Map` of arrays, because objects that stay for a while and go by the thousands a second
 * are what a generational collector is worst at: 50,000 profiles of 450 bytes let the process grow to 300 MB.
 */
export class ByteCache {
  readonly #segmentBytes: number;
  #memory = new Uint8Array(0);
  #ints = new Int32Array(0);
  #floats = new Float64Array(0);
  #index = new Index(1);
  /** Where each segment's records end, and the one that is filled. */
  readonly #ends = new Int32Array(segmentCount);
  #segment = 0;
  #isFull = false;

  constructor(readonly maxBytes: number) {
    this.#segmentBytes = Math.floor(maxBytes / segmentCount / 8) * 8;
  }

  /** What is longer, head and name included, is not kept. */
  get longestRecordBytes(): number {
    return Math.floor(this.#segmentBytes * freed);
  }

  /** The bytes are good until the next `put`. */
  get(name: string): KeptBytes | null {
    const start = this.#index.at(this.#slotOf(nameHash(name), name));
    if (start === -1) return null;
    const int = start / 4;
    const nameBytes = this.#ints[int + nameAt] ?? 0;
    if (nameBytes >= 0) this.#ints[int + nameAt] = ~nameBytes;
    const from = start + headBytes + name.length;
    const bytes = this.#memory.subarray(from, from + (this.#ints[int + bytesAt] ?? 0));
    return { id: this.#floats[start / 8] ?? 0, stamp: this.#ints[int + stampAt] ?? 0, bytes };
  }

  /**
   * Keeps this in the place of what was there. What is too long, or has a name of other letters than Latin ones, is not
   * kept, and what was there stays.
   */
  put(name: string, kept: KeptBytes): void {
    const length = recordBytes(name.length, kept.bytes.length);
    if (length > this.longestRecordBytes || !/^[\0-\xff]*$/.test(name)) return;
    if (this.#memory.length === 0) this.#take();
    const hash = nameHash(name);
    const isNew = this.#index.at(this.#slotOf(hash, name)) === -1;
    if (isNew && this.#isFull && !this.#index.isSecond(hash)) return;
    const start = this.#roomFor(length);
    this.#write(start, hash, name, kept);
    this.#index.set(this.#slotOf(hash, name), hash, start);
  }

  /** Takes the memory when the first record comes: a start does not wait for that. */
  #take(): void {
    this.#memory = new Uint8Array(this.#segmentBytes * segmentCount);
    this.#ints = new Int32Array(this.#memory.buffer);
    this.#floats = new Float64Array(this.#memory.buffer);
    this.#index = new Index(this.maxBytes / leastRecordBytes);
    this.#ends.forEach((_, i) => {
      this.#ends[i] = i * this.#segmentBytes;
    });
  }

  #slotOf(hash: number, name: string): number {
    const { slots, hashes, mask } = this.#index;
    let slot = hash & mask;
    for (let start = slots[slot] ?? 0; start !== 0; start = slots[slot] ?? 0) {
      if (hashes[slot] === hash && this.#isAt(start - 1, name)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #isAt(start: number, name: string): boolean {
    if (lengthOfName(this.#ints[start / 4 + nameAt] ?? 0) !== name.length) return false;
    for (let i = 0; i < name.length; i++) {
      if (this.#memory[start + headBytes + i] !== name.charCodeAt(i)) return false;
    }
    return true;
  }

  /** Where a record of so many bytes has room, which is taken. */
  #roomFor(bytes: number): number {
    const full = (this.#segment + 1) * this.#segmentBytes;
    if ((this.#ends[this.#segment] ?? 0) + bytes > full) {
      this.#segment = (this.#segment + 1) % segmentCount;
      this.#clean(this.#segment);
    }
    const start = this.#ends[this.#segment] ?? 0;
    this.#ends[this.#segment] = start + bytes;
    return start;
  }

  /** Moves those who were asked for together, and drops the others. */
  #clean(segment: number): void {
    const first = segment * this.#segmentBytes;
    const end = this.#ends[segment] ?? 0;
    if (end > first) this.#isFull = true;
    const most = first + this.#segmentBytes - this.longestRecordBytes;
    let to = first;
    for (let start = first; start < end; ) {
      const int = start / 4;
      const nameBytes = this.#ints[int + nameAt] ?? 0;
      const length = recordBytes(lengthOfName(nameBytes), this.#ints[int + bytesAt] ?? 0);
      const slot = this.#index.slotOf(this.#ints[int + hashAt] ?? 0, start);
      if (slot !== null && nameBytes < 0 && to + length <= most) {
        this.#ints[int + nameAt] = ~nameBytes;
        this.#memory.copyWithin(to, start, start + length);
        this.#index.move(slot, to);
        to += length;
      } else if (slot !== null) this.#index.delete(slot);
      start += length;
    }
    this.#ends[segment] = to;
  }

  #write(start: number, hash: number, name: string, { id, stamp, bytes }: KeptBytes): void {
    const int = start / 4;
    this.#floats[start / 8] = id;
    this.#ints[int + stampAt] = stamp;
    this.#ints[int + hashAt] = hash;
    this.#ints[int + nameAt] = name.length;
    this.#ints[int + bytesAt] = bytes.length;
    for (let i = 0; i < name.length; i++) this.#memory[start + headBytes + i] = name.charCodeAt(i);
    this.#memory.set(bytes, start + headBytes + name.length);
  }
}

const lengthOfName = (stored: number) => (stored < 0 ? ~stored : stored);

function recordBytes(nameBytes: number, bytes: number): number {
  return Math.max(leastRecordBytes, Math.ceil((headBytes + nameBytes + bytes) / 8) * 8);
}

/** Where records begin, by the hash of their name: open addressing with linear probing, at most half full. */
class Index {
  /** Beginnings + 1; 0: free. */
  readonly slots: Int32Array;
  readonly hashes: Int32Array;
  readonly mask: number;
  /** Hashes of names that were not kept, each until another takes its place. */
  readonly #seen: Int32Array;

  /** @param records as many as there can be */
  constructor(records: number) {
    const length = 2 ** Math.ceil(Math.log2(2 * records));
    this.slots = new Int32Array(length);
    this.hashes = new Int32Array(length);
    this.mask = length - 1;
    this.#seen = new Int32Array(Math.ceil(length / 4));
  }

  /** Where the record of a slot begins; -1: there is none. */
  at(slot: number): number {
    return (this.slots[slot] ?? 0) - 1;
  }

  /** The slot of a record, or null where another one has taken its place. */
  slotOf(hash: number, start: number): number | null {
    for (let slot = hash & this.mask; this.slots[slot] !== 0; slot = (slot + 1) & this.mask) {
      if (this.slots[slot] === start + 1) return slot;
    }
    return null;
  }

  set(slot: number, hash: number, start: number): void {
    this.slots[slot] = start + 1;
    this.hashes[slot] = hash;
  }

  move(slot: number, start: number): void {
    this.slots[slot] = start + 1;
  }

  /** Those behind it that would not be found any more move up. */
  delete(slot: number): void {
    let free = slot;
    for (let next = (slot + 1) & this.mask; this.slots[next] !== 0; next = (next + 1) & this.mask) {
      const wanted = (this.hashes[next] ?? 0) & this.mask;
      if (((next - wanted) & this.mask) < ((next - free) & this.mask)) continue;
      this.slots[free] = this.slots[next] ?? 0;
      this.hashes[free] = this.hashes[next] ?? 0;
      free = next;
    }
    this.slots[free] = 0;
  }

  /** Whether a name with this hash came not long before; from now on it has. */
  isSecond(hash: number): boolean {
    const place = (hash >>> 8) & (this.#seen.length - 1);
    if (this.#seen[place] === hash) return true;
    this.#seen[place] = hash;
    return false;
  }
}
