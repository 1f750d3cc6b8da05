/** What is kept under a name. */
export interface KeptBytes {
  readonly id: number;
  /** Of the state in which it was kept: a whole number of 32 bits. */
  readonly stamp: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Bytes by name, in two pieces of memory. The younger one is filled; when it is full it takes the place of the older
 * one, which is emptied and filled anew. What is found in the older one is copied into the younger one, so that what
 * nobody asks for is dropped.
 *
 * Pieces of memory instead of a `Map` of arrays, because objects that stay for a while and go by the thousands a second
 * are what a generational collector is worst at: 50,000 profiles of 450 bytes let the process grow to 300 MB. The same
 * two for ever, because new ones would be garbage of 20 MB a second.
 */
export class ByteCache {
  #young: Piece;
  #old: Piece;

  constructor(readonly maxBytes: number) {
    this.#young = new Piece(maxBytes / 2);
    this.#old = new Piece(maxBytes / 2);
  }

  /** The bytes are good until the next call of any method. */
  get(name: string): KeptBytes | null {
    const young = this.#young.find(name);
    if (young !== null) return this.#young.at(young);
    const old = this.#old.find(name);
    if (old === null) return null;
    const kept = this.#old.at(old);
    if (this.#young.add(name, kept)) return kept;
    // It lies in what is emptied now.
    const copy = { ...kept, bytes: kept.bytes.slice() };
    this.put(name, copy);
    return copy;
  }

  /**
   * Keeps this in the place of what was there. What is too large, or has a name of other letters than Latin ones, is not
   * kept, and what was there stays.
   */
  put(name: string, kept: KeptBytes): void {
    if (!/^[\0-\xff]*$/.test(name) || recordBytes(name, kept) > this.maxBytes / 2) return;
    if (this.#young.add(name, kept)) return;
    const emptied = this.#old;
    emptied.empty();
    this.#old = this.#young;
    this.#young = emptied;
    this.#young.add(name, kept);
  }
}

/*
 * A record is a head of 24 bytes, the name and the bytes, and begins at a multiple of 8. The head holds the id (a
 * Float64) and, as Int32, the stamp, the length of the name and that of the bytes.
 */
const headBytes = 24;

function recordBytes(name: string, { bytes }: KeptBytes): number {
  return Math.ceil((headBytes + name.length + bytes.length) / 8) * 8;
}

/** One piece of memory, taken when the first record comes: a start does not wait for that. */
class Piece {
  #memory = new Uint8Array(0);
  #ints = new Int32Array(0);
  #floats = new Float64Array(0);
  /** Beginnings of records + 1, each in the first slot that was free from that of its hash on; 0: free. */
  #slots = new Int32Array(1);
  #used = 0;
  #records = 0;

  constructor(readonly bytes: number) {}

  #take(): void {
    this.#memory = new Uint8Array(Math.floor(this.bytes / 8) * 8);
    this.#ints = new Int32Array(this.#memory.buffer);
    this.#floats = new Float64Array(this.#memory.buffer);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(this.bytes / 128 + 2)));
  }

  /** Where the record of a name begins; null where there is none. */
  find(name: string): number | null {
    const start = (this.#slots[this.#slotOf(name)] ?? 0) - 1;
    return start === -1 ? null : start;
  }

  /** The slot of a name, or the one that it would have. There is always one, because half of them stay free. */
  #slotOf(name: string): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(name) & mask;
    for (let start = this.#slots[slot] ?? 0; start !== 0; start = this.#slots[slot] ?? 0) {
      if (this.#isAt(start - 1, name)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #isAt(start: number, name: string): boolean {
    if (this.#ints[start / 4 + 3] !== name.length) return false;
    for (let i = 0; i < name.length; i++) {
      if (this.#memory[start + headBytes + i] !== name.charCodeAt(i)) return false;
    }
    return true;
  }

  at(start: number): KeptBytes {
    const int = (at: number) => this.#ints[start / 4 + at] ?? 0;
    const from = start + headBytes + int(3);
    const bytes = this.#memory.subarray(from, from + int(4));
    return { id: this.#floats[start / 8] ?? 0, stamp: int(2), bytes };
  }

  /** Whether there was room. */
  add(name: string, kept: KeptBytes): boolean {
    if (this.#memory.length === 0) this.#take();
    const start = this.#used;
    const end = start + recordBytes(name, kept);
    if (end > this.#memory.length || this.#records >= this.#slots.length / 2) return false;
    this.#floats[start / 8] = kept.id;
    const int = start / 4;
    this.#ints[int + 2] = kept.stamp;
    this.#ints[int + 3] = name.length;
    this.#ints[int + 4] = kept.bytes.length;
    for (let i = 0; i < name.length; i++) this.#memory[start + headBytes + i] = name.charCodeAt(i);
    this.#memory.set(kept.bytes, start + headBytes + name.length);
    this.#slots[this.#slotOf(name)] = start + 1;
    this.#used = end;
    this.#records++;
    return true;
  }

  empty(): void {
    this.#slots.fill(0);
    this.#used = 0;
    this.#records = 0;
  }
}

/** FNV-1a of the code units. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
