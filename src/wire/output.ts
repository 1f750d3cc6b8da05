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
let isEndingSoon = false;

/** Has `endTurn` be called at the end of this turn of the event loop, behind everything that is to be done there. */
export function endTurnSoon(): void {
  if (isEndingSoon) return;
  isEndingSoon = true;
  setImmediate(endTurn);
}

/** Sends what was added in this turn of the event loop, at whose end this is called by itself. */
export function endTurn(): void {
  isEndingSoon = false;
  const outputs = turn;
  turn = [];
  for (const output of outputs) output.flush();
  // Unless one was told of something by sending, and has added to it.
  if (turn.length === 0) used = 0;
}

/** The bytes of one connection on their way out, in order. */
export class Output {
  /** Whether there is nobody any more who could take something. */
  isBroken = false;
  #waiting: Uint8Array[] = [];
  /** Its part of what is put together. */
  #start = 0;
  #end = 0;

  constructor(
    readonly sink: Sink,
    /** Told whenever more waits than before, be it in the midst of anything. */
    readonly waits: () => void = () => {},
  ) {}

  /** Whether the other side has yet to take something. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0;
  }

  /** Bytes that the other side has yet to take. */
  get waitingBytes(): number {
    if (this.#waiting.length === 0) return 0;
    let bytes = 0;
    for (const { byteLength } of this.#waiting) bytes += byteLength;
    return bytes;
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
    const written = this.isBlocked ? 0 : this.#write(scratch, start, end - start);
    if (written < end - start) this.#wait(new Uint8Array(scratch.subarray(start + written, end)));
  }

  /** Sends what waits. @returns how many bytes were taken */
  resume(): number {
    let taken = 0;
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting as [Uint8Array];
      const written = this.#write(first, 0, first.byteLength);
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
  #write(bytes: Uint8Array, start: number, length: number): number {
    const written = this.sink.write(bytes, start, length);
    if (written >= 0) return written;
    this.isBroken = true;
    return 0;
  }

  #wait(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.waits();
  }

  /** Makes room for so many bytes right behind what was added before. */
  #makeRoom(bytes: number): void {
    if (this.#end !== used) this.flush();
    if (bytes > scratch.length - used) endTurn();
    if (this.#start !== this.#end) return;
    endTurnSoon();
    turn.push(this);
    this.#start = used;
    this.#end = used;
  }

  #send(bytes: Uint8Array): void {
    const written = this.isBlocked ? 0 : this.#write(bytes, 0, bytes.byteLength);
    if (written < bytes.byteLength) this.#wait(bytes.subarray(written));
  }
}
