/** The length of the tag, which is also the initialisation vector. */
const tagBytes = 16;

/**
 * Makes and opens sealed values: URL-safe, encrypted and authenticated, so that a value given to others comes back
 * unread and unchanged. Equal contents give equal values: the tag over the content is the initialisation vector of its
 * encryption (SIV, as in RFC 5297, with HMAC-SHA256 and AES-256-CTR).
 */
export class Seal {
  readonly #encryptionKey: Uint8Array;
  readonly #authenticationKey: Uint8Array;

  /**
   * @param secret the same across restarts and replicas, so that values stay valid
   * @param purpose a value of one purpose is none of another
   */
  constructor(secret: string, purpose: string) {
    this.#encryptionKey = hmac(secret, `${purpose} encryption`);
    this.#authenticationKey = hmac(secret, `${purpose} authentication`);
  }

  seal(content: Uint8Array): string {
    const tag = this.#tag(content);
    return Buffer.concat([tag, this.#crypt(content, tag)]).toString("base64url");
  }

  /** Returns the content of a value; null if it was not made with this secret for this purpose. */
  open(sealed: string): Buffer | null {
    const bytes = Buffer.from(sealed, "base64url");
    // Refuses other base64url spellings of the same bytes.
    if (bytes.length <= tagBytes || bytes.toString("base64url") !== sealed) return null;
    const tag = bytes.subarray(0, tagBytes);
    const content = this.#crypt(bytes.subarray(tagBytes), tag);
    return crypto.timingSafeEqual(this.#tag(content), tag) ? content : null;
  }

  /** Returns a hash of a text that only this secret gives. */
  hash(text: string): Buffer {
    return hmac(this.#authenticationKey, text);
  }

  #tag(content: Uint8Array): Buffer {
    return hmac(this.#authenticationKey, content).subarray(0, tagBytes);
  }

  /** Encrypts and decrypts. Loads node:crypto with the first value to keep it out of the start. */
  #crypt(content: Uint8Array, tag: Uint8Array): Buffer {
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-256-ctr", this.#encryptionKey, tag).update(content);
  }
}

function hmac(key: string | Uint8Array, content: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(content).digest();
}
