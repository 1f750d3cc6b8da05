/** What a socket takes: as many bytes as it can at the moment; fewer than 0 when it is closed. */
export interface Sink {
  write(bytes: Uint8Array, offset: number, length: number): number;
}

/**
 * Where answers are put together, one for all connections. What a turn of the event loop answers is sent at its end, in
 * one system call for each connection: sending drives out of the processor's caches what the next answer needs, and a
 * Get User takes a tenth less without it in between (`bun tests/bench/read.ts`).
 */
const scratch = Buffer.allocUnsafe(256 * 1024);
let used = 0;
/** Those with something in it. */
let turn: Output[] = [];

/** Sends what was added in this turn of the event loop, at whose end this is called by itself. */
export function endTurn(): void {
  const outputs = turn;
  turn = [];
  for (const output of outputs) output.flush();
  used = 0;
}

/** The bytes of one connection on their way out, in order. */
export class Output {
  #waiting: Uint8Array[] = [];
  /** Its part of what is put together. */
  #start = 0;
  #end = 0;

  constructor(readonly sink: Sink) {}

  /** Whether the other side has yet to take something. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0;
  }

  /** Adds a head, its beginning first, and its body, to be sent by the next `flush`, or by itself at the end of the turn. */
  add(head: string, body: Uint8Array | null, beginning: Uint8Array | null = null): void {
    const bodyBytes = body?.byteLength ?? 0;
    const beginningBytes = beginning?.byteLength ?? 0;
    this.#makeRoom(beginningBytes + head.length + bodyBytes);
    if (beginning !== null) scratch.set(beginning, used);
    used += beginningBytes;
    used += scratch.write(head, used, "latin1");
    const fits = bodyBytes <= scratch.length - used;
    if (body !== null && fits) {
      scratch.set(body, used);
      used += bodyBytes;
    }
    this.#end = used;
    if (body !== null && !fits) {
      this.flush();
      this.#send(body);
    }
  }

  /** Sends what was added, as far as the other side takes it; the rest follows by `resume`. */
  flush(): void {
    const [start, end] = [this.#start, this.#end];
    if (start === end) return;
    this.#end = start;
    const written = this.isBlocked ? 0 : Math.max(0, this.sink.write(scratch, start, end - start));
    if (written < end - start) this.#waiting.push(new Uint8Array(scratch.subarray(start + written, end)));
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

  /** Makes room for so many bytes right behind what was added before. */
  #makeRoom(bytes: number): void {
    if (this.#end !== used) this.flush();
    if (bytes > scratch.length - used) endTurn();
    if (this.#start !== this.#end) return;
    if (turn.length === 0) setImmediate(endTurn);
    turn.push(this);
    this.#start = used;
    this.#end = used;
  }

  #send(bytes: Uint8Array): void {
    const written = this.isBlocked ? 0 : Math.max(0, this.sink.write(bytes, 0, bytes.byteLength));
    if (written < bytes.byteLength) this.#waiting.push(bytes.subarray(written));
  }
}
