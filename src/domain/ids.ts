const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The largest id of a user, channel or category: 2^53 - 1. */
export const maxId = Number.MAX_SAFE_INTEGER;

/** Returns the id of a user, channel or category that a text is, in plain decimal; null for any other text. */
export function idIn(text: string): number | null {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number(text) <= maxId ? Number(text) : null;
}

export const ulidPattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";

const digits = Buffer.from(alphabet);
const idLength = 26;

/** Writes a number of at most 30 bits as `count` digits. */
function putDigits(into: Buffer, at: number, count: number, value: number): void {
  let rest = value;
  for (let i = at + count - 1; i >= at; i--) {
    into[i] = digits[rest & 31] ?? 0;
    rest >>>= 5;
  }
}

/** Writes the time of an id, its first 10 digits. */
function putTime(into: Buffer, ms: number): void {
  putDigits(into, 0, 4, Math.floor(ms / 2 ** 30));
  putDigits(into, 4, 6, ms % 2 ** 30);
}

/**
 * A generator of strictly ascending ULIDs (https://github.com/ulid/spec), also within one millisecond and when the
 * clock steps back. Not the `ulid` package, which draws and encodes all 80 random bits for each id: every request takes
 * an id. Digits are written into one piece of memory, because an id is often made by code that is no longer in the
 * processor's caches.
 */
export function ulidSource(now: () => number = Date.now): () => string {
  const id = Buffer.alloc(idLength);
  const random = new Uint32Array(4);
  let lastMs = -1;
  /** The last 40 bits, which increase. */
  let high = 0;
  let low = 0;
  const start = (ms: number) => {
    crypto.getRandomValues(random);
    const [a = 0, b = 0, c = 0, d = 0] = random;
    lastMs = ms;
    putTime(id, ms);
    putDigits(id, 10, 4, a >>> 12);
    putDigits(id, 14, 4, b >>> 12);
    high = c >>> 12;
    low = d >>> 13; // leaves space to increase within one millisecond
    putDigits(id, 18, 4, high);
  };
  return () => {
    const ms = now();
    if (ms > lastMs) start(ms);
    else if (++low === 2 ** 20) {
      low = 0;
      if (++high === 2 ** 20) start(lastMs + 1);
      else putDigits(id, 18, 4, high);
    }
    putDigits(id, 22, 4, low);
    return id.toString("latin1");
  };
}

/** The value of each digit by its character code. */
const digitValues = new Uint8Array(128);
for (const [value, digit] of [...alphabet].entries()) digitValues[digit.charCodeAt(0)] = value;

/** The time of a ULID in milliseconds since the epoch. */
export function idTime(id: string): number {
  let ms = 0;
  for (let i = 0; i < 10; i++) ms = ms * 32 + (digitValues[id.charCodeAt(i)] ?? 0);
  return ms;
}

/** A deterministic ULID from a time and the first 80 bits of a seed. */
export function derivedId(ms: number, seed: Buffer): string {
  const id = Buffer.alloc(idLength);
  putTime(id, ms);
  for (const byte of [0, 5]) {
    const bits = seed.readUIntBE(byte, 5);
    putDigits(id, 10 + (byte / 5) * 8, 4, Math.floor(bits / 2 ** 20));
    putDigits(id, 14 + (byte / 5) * 8, 4, bits % 2 ** 20);
  }
  return id.toString("latin1");
}

/** The process-wide source. */
export const newId = ulidSource();

/** Returns a random number of up to 48 bits that distinguishes a process from the other replicas of its database. */
export function newReplica(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 16) * 2 ** 32 + low + 1;
}
