/** What a socket takes: as many bytes as it can at the moment; fewer than 0 when it is closed. */
export interface Sink {
  write(bytes: Uint8Array, offset: number, length: number): number;
}

/**
 * Where answers are put together. One for all connections, because each is done with it before another one begins: what
 * one turn of the event loop answers on a connection goes out in one system call.
 */
const scratch = Buffer.allocUnsafe(256 * 1024);
let used = 0;
let owner: Output | null = null;

/** The bytes of one connection on their way out, in order. */
export class Output {
  /** Whether there is nobody any more who could take something. */
  isBroken = false;
  #waiting: Uint8Array[] = [];

  constructor(readonly sink: Sink) {}

  /** Whether the other side has yet to take something. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0;
  }

  /** Bytes that it has yet to take. */
  get waitingBytes(): number {
    let bytes = 0;
    for (const { byteLength } of this.#waiting) bytes += byteLength;
    return bytes;
  }

  /** Adds a head and its body, to be sent by the next `flush`. */
  add(head: string, body: Uint8Array | null): void {
    const bodyBytes = body?.byteLength ?? 0;
    this.#claim(head.length + bodyBytes);
    used += scratch.write(head, used, "latin1");
    if (body !== null && bodyBytes > scratch.length - used) {
      this.flush();
      this.#send(body);
    } else if (body !== null) {
      scratch.set(body, used);
      used += bodyBytes;
    }
  }

  /** Sends what was added, as far as the other side takes it; the rest follows by `resume`. */
  flush(): void {
    if (owner !== this || used === 0) return;
    const length = used;
    used = 0;
    const written = this.isBlocked ? 0 : this.#write(scratch, length);
    if (written < length) this.#waiting.push(new Uint8Array(scratch.subarray(written, length)));
  }

  /** Sends what waits. @returns how many bytes were taken */
  resume(): number {
    let taken = 0;
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting as [Uint8Array];
      const written = this.#write(first, first.byteLength);
      taken += written;
      if (written < first.byteLength) {
        this.#waiting[0] = first.subarray(written);
        break;
      }
      this.#waiting.shift();
    }
    return taken;
  }

  /** @returns how many bytes were taken */
  #write(bytes: Uint8Array, length: number): number {
    const written = this.sink.write(bytes, 0, length);
    if (written >= 0) return written;
    this.isBroken = true;
    return 0;
  }

  /** Makes room in what is shared. */
  #claim(bytes: number): void {
    if (owner !== this) owner?.flush();
    owner = this;
    if (bytes > scratch.length - used) this.flush();
  }

  #send(bytes: Uint8Array): void {
    const written = this.isBlocked ? 0 : this.#write(bytes, bytes.byteLength);
    if (written < bytes.byteLength) this.#waiting.push(bytes.subarray(written));
  }
}
