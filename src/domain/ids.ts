const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const half = 2 ** 40;

/** The largest id of a user, channel or category: 2^53 - 1. */
export const maxId = Number.MAX_SAFE_INTEGER;

export const ulidPattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";

/** All pairs of digits, to encode 10 bits at a time. */
const pairs = Array.from({ length: 1024 }, (_, n) => `${alphabet[n >> 5]}${alphabet[n & 31]}`);

/** Encodes a number below 2^40 in 8 digits. */
function eightDigits(value: number): string {
  const high = Math.floor(value / 2 ** 20);
  const low = value % 2 ** 20;
  return `${pairs[high >> 10]}${pairs[high & 1023]}${pairs[low >> 10]}${pairs[low & 1023]}`;
}

/**
 * A generator of strictly ascending ULIDs (https://github.com/ulid/spec), also within one millisecond and when the
 * clock steps back. Not the `ulid` package, which draws and encodes all 80 random bits for each id: every request takes
 * an id.
 */
export function ulidSource(now: () => number = Date.now): () => string {
  let lastMs = -1;
  let prefix = "";
  /** The 40 bits that increase: 30 of them, in `head` with the prefix, and the last two digits. */
  let high = 0;
  let low = 0;
  let head = "";
  const start = (ms: number) => {
    const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
    lastMs = ms;
    prefix = `${pairs[Math.floor(ms / half)]}${eightDigits(ms % half)}${eightDigits((a % 256) * 2 ** 32 + b)}`;
    high = c >>> 3; // leaves room to increase within one millisecond
    low = (c & 7) * 128;
    takeHead();
  };
  const takeHead = () => {
    head = flat(`${prefix}${pairs[high >>> 20]}${pairs[(high >>> 10) & 1023]}${pairs[high & 1023]}`);
  };
  return () => {
    const ms = now();
    if (ms > lastMs) start(ms);
    else if (++low === 1024) {
      low = 0;
      if (++high === 2 ** 30) start(lastMs + 1);
      else takeHead();
    }
    return `${head}${pairs[low]}`;
  };
}

/** Flattens a concatenated string, which is otherwise traversed piece by piece at each use. */
const flat = (text: string) => Buffer.from(text, "latin1").toString("latin1");

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
  const time = `${pairs[Math.floor(ms / half)]}${eightDigits(ms % half)}`;
  return time + eightDigits(seed.readUIntBE(0, 5)) + eightDigits(seed.readUIntBE(5, 5));
}

/** The process-wide source. */
export const newId = ulidSource();
