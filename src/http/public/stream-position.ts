/** A place in the event stream of an application: it has everything up to a delivery, as of a time. */
export interface StreamPosition {
  /** The number of the delivery. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const numberBytes = 6;
const markBytes = 4;

/**
 * Makes and reads the ids of the event stream: one block of AES that holds a position and a mark of the application.
 * Encrypted, because the numbers of deliveries would tell everyone how much the platform sends.
 */
export class StreamPositions {
  readonly #key: Buffer;

  /** `secret` stays the same across restarts, so that clients can go on. */
  constructor(secret: string) {
    this.#key = new Bun.CryptoHasher("sha256").update(`event stream ${secret}`).digest().subarray(0, 16);
  }

  make({ seq, at }: StreamPosition, applicationId: string): string {
    const block = Buffer.alloc(16);
    block.writeUIntBE(seq, 0, numberBytes);
    block.writeUIntBE(at, numberBytes, numberBytes);
    markOf(applicationId).copy(block, 2 * numberBytes);
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-128-ecb", this.#key, null)
      .setAutoPadding(false)
      .update(block)
      .toString("base64url");
  }

  /** null for one that was not made here for this application. */
  read(id: string, applicationId: string): StreamPosition | null {
    const encrypted = Buffer.from(id, "base64url");
    if (encrypted.length !== 16 || encrypted.toString("base64url") !== id) return null;
    const { createDecipheriv } = process.getBuiltinModule("node:crypto");
    const block = createDecipheriv("aes-128-ecb", this.#key, null).setAutoPadding(false).update(encrypted);
    if (!block.subarray(2 * numberBytes).equals(markOf(applicationId))) return null;
    return { seq: block.readUIntBE(0, numberBytes), at: block.readUIntBE(numberBytes, numberBytes) };
  }
}

function markOf(applicationId: string): Buffer {
  return new Bun.CryptoHasher("sha256").update(applicationId).digest().subarray(0, markBytes);
}
