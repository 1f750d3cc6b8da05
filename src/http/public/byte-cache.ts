/** What is kept under a name. */
export interface KeptBytes {
  readonly id: number;
  /** Of the state in which it was kept: a whole number of 32 bits. */
  readonly stamp: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The same, before it is kept; its bytes are those of `text` in UTF-8. */
export type ToKeep = Omit<KeptBytes, "bytes"> & { readonly text: string };

/**
 * Bytes by name, in two pieces of memory. The younger one is filled; when it is full it takes the place of the older
 * one. What is found in the older one is copied into the younger one, so that what nobody asks for is dropped.
 *
 * Pieces of memory instead of a `Map` of arrays, because objects that stay for a while and go by the thousands a second
 * are what a generational collector is worst at: 50,000 profiles of 450 bytes let the process grow to 300 MB.
 */
export class ByteCache {
  #young: Piece;
  #old: Piece;

  constructor(readonly maxBytes: number) {
    this.#young = new Piece(maxBytes / 2);
    this.#old = new Piece(0);
  }

  has(name: string): boolean {
    return this.#young.find(name) !== null || this.#old.find(name) !== null;
  }

  /** The bytes stay as they are for as long as somebody has them. */
  get(name: string): KeptBytes | null {
    const young = this.#young.find(name);
    if (young !== null) return this.#young.at(young);
    const old = this.#old.find(name);
    if (old === null) return null;
    const kept = this.#old.at(old);
    this.#add(name, kept, kept.bytes.length);
    return kept;
  }

  /**
   * Keeps this in the place of what was there, and gives its bytes. What may be too large, or has a name of other
   * letters than Latin ones, is not kept: null, and what was there stays.
   */
  put(name: string, kept: ToKeep): Uint8Array<ArrayBuffer> | null {
    // No letter takes more than 3 bytes for each of its code units.
    const maxBytes = 3 * kept.text.length;
    if (!/^[\0-\xff]*$/.test(name) || recordBytes(name, maxBytes) > this.maxBytes / 2) return null;
    return this.#add(name, kept, maxBytes);
  }

  #add(name: string, kept: KeptBytes | ToKeep, maxBytes: number): Uint8Array<ArrayBuffer> | null {
    if (!this.#young.hasRoomFor(name, maxBytes)) {
      this.#old = this.#young;
      this.#young = new Piece(this.maxBytes / 2);
    }
    return this.#young.add(name, kept);
  }
}

/*
 * A record is a head of 24 bytes, the name and the bytes, and begins at a multiple of 8. The head holds the id (a
 * Float64) and, as Int32, the stamp, the length of the name and that of the bytes.
 */
const headBytes = 24;

function recordBytes(name: string, length: number): number {
  return Math.ceil((headBytes + name.length + length) / 8) * 8;
}

/** One piece of memory. Nothing in it is ever changed, because answers under way may be made of it. */
class Piece {
  readonly #memory: Buffer<ArrayBuffer>;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  /** Beginnings of records + 1, each in the first slot that was free from that of its hash on; 0: free. */
  readonly #slots: Int32Array;
  #used = 0;
  #records = 0;

  constructor(bytes: number) {
    this.#memory = Buffer.from(new ArrayBuffer(Math.floor(bytes / 8) * 8));
    this.#ints = new Int32Array(this.#memory.buffer);
    this.#floats = new Float64Array(this.#memory.buffer);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(bytes / 128 + 2)));
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
    return { id: this.#floats[start / 8] ?? 0, stamp: int(2), bytes: this.#part(from, int(4)) };
  }

  #part(from: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, from, length);
  }

  /** Whether another record of at most so many bytes can be added. */
  hasRoomFor(name: string, maxBytes: number): boolean {
    const end = this.#used + recordBytes(name, maxBytes);
    return end <= this.#memory.length && this.#records < this.#slots.length / 2;
  }

  /** Adds a record, for which there has to be room, and gives its bytes. */
  add(name: string, kept: KeptBytes | ToKeep): Uint8Array<ArrayBuffer> {
    const start = this.#used;
    const from = start + headBytes + name.length;
    const length = this.#write(kept, from);
    const int = start / 4;
    this.#floats[start / 8] = kept.id;
    this.#ints[int + 2] = kept.stamp;
    this.#ints[int + 3] = name.length;
    this.#ints[int + 4] = length;
    for (let i = 0; i < name.length; i++) this.#memory[start + headBytes + i] = name.charCodeAt(i);
    this.#slots[this.#slotOf(name)] = start + 1;
    this.#used = start + recordBytes(name, length);
    this.#records++;
    return this.#part(from, length);
  }

  /** @returns how many bytes were written */
  #write(kept: KeptBytes | ToKeep, at: number): number {
    if ("text" in kept) return this.#memory.write(kept.text, at, "utf8");
    this.#memory.set(kept.bytes, at);
    return kept.bytes.length;
  }
}

/** FNV-1a of the code units. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
