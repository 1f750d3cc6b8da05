const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const half = 2 ** 40;

/** The largest id of a user, channel or category: 2^53 - 1. */
export const maxId = Number.MAX_SAFE_INTEGER;

export const ulidPattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value, i = 0; i < length; i++, rest = Math.floor(rest / 32))
    text = alphabet[rest % 32] + text;
  return text;
}

/**
 * A source of ULIDs (https://github.com/ulid/spec) that strictly ascend, also within one millisecond and when the
 * clock steps back. Written here because every request takes one: the `ulid` package draws and encodes all
 * 80 random bits for each id and is some ten times slower.
 */
export function ulidSource(now: () => number = Date.now): () => string {
  let lastMs = -1;
  let prefix = "";
  let low = 0;
  const start = (ms: number) => {
    const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
    lastMs = ms;
    prefix = encode(ms, 10) + encode((a % 256) * 2 ** 32 + b, 8);
    low = c * 128; // leaves room to count up within one millisecond
  };
  return () => {
    const ms = now();
    if (ms > lastMs) start(ms);
    else if (++low >= half) start(lastMs + 1);
    return prefix + encode(low, 8);
  };
}

/** The process-wide source. */
export const newId = ulidSource();
