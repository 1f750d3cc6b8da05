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
  #waiting: Uint8Array[] = [];

  constructor(readonly sink: Sink) {}

  /** Whether the other side has yet to take something. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0;
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
    const written = this.isBlocked ? 0 : Math.max(0, this.sink.write(scratch, 0, length));
    if (written < length) this.#waiting.push(new Uint8Array(scratch.subarray(written, length)));
  }

  /** Sends what waits. @returns how many bytes were taken */
  resume(): number {
    let taken = 0;
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting as [Uint8Array];
      const written = Math.max(0, this.sink.write(first, 0, first.byteLength));
      taken += written;
      if (written < first.byteLength) {
        this.#waiting[0] = first.subarray(written);
        break;
      }
      this.#waiting.shift();
    }
    return taken;
  }

  /** Makes room in what is shared. */
  #claim(bytes: number): void {
    if (owner !== this) owner?.flush();
    owner = this;
    if (bytes > scratch.length - used) this.flush();
  }

  #send(bytes: Uint8Array): void {
    const written = this.isBlocked ? 0 : Math.max(0, this.sink.write(bytes, 0, bytes.byteLength));
    if (written < bytes.byteLength) this.#waiting.push(bytes.subarray(written));
  }
}
