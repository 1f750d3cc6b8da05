const signatureBytes = 12;
const markBytes = 6;

/**
 * Makes and reads the cursors of lists: opaque, URL-safe, and signed, so that nobody can make one. A cursor holds the
 * position where it continues and the filter it was made with, which also tells the lists apart.
 */
export class Cursors {
  /** `key` is secret and stays the same across restarts, so that clients can go on. */
  constructor(readonly key: string) {}

  /** @param position the numbers that say where the list goes on */
  make(position: readonly number[], filter: string): string {
    const payload = [...position, this.#mark(filter)].join(" ");
    return `${Buffer.from(payload).toString("base64url")}.${this.#sign(payload, signatureBytes)}`;
  }

  /** What a cursor holds, or null for one that was not made here. */
  read(cursor: string): { readonly position: readonly number[]; isFor(filter: string): boolean } | null {
    const [encoded = ""] = cursor.split(".", 1);
    const payload = Buffer.from(encoded, "base64url").toString();
    if (!sameBytes(cursor, `${encoded}.${this.#sign(payload, signatureBytes)}`)) return null;
    const parts = payload.split(" ");
    const mark = parts.pop();
    return { position: parts.map(Number), isFor: (filter) => mark === this.#mark(filter) };
  }

  /** Stands for a filter of any length. */
  #mark(filter: string): string {
    return this.#sign(`filter ${filter}`, markBytes);
  }

  #sign(text: string, bytes: number): string {
    return new Bun.CryptoHasher("sha256", this.key)
      .update(text)
      .digest()
      .subarray(0, bytes)
      .toString("base64url");
  }
}

function sameBytes(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && crypto.timingSafeEqual(left, right);
}
