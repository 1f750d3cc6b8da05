import { Body } from "./body.ts";
import { type Fields, type Head, headTooLarge, maxHeadBytes, readHead, WireFault } from "./head.ts";
import { Output } from "./output.ts";
import { chunkOf, continueLine, headOf, lastChunk, type Reply } from "./reply.ts";

/** The part of a socket that a connection needs. */
export interface Socket {
  write(bytes: Uint8Array, offset: number, length: number): number;
  readonly remoteAddress: string;
  pause(): void;
  resume(): void;
  /** Says that nothing more will be sent. */
  shutdown(): void;
  /** The same, and closes. */
  end(): void;
  /** Closes at once. */
  terminate(): void;
}

/** Who answers the requests of a listener. Neither of them throws or rejects. */
export interface Answerer {
  answer(head: Head, body: Uint8Array<ArrayBuffer> | null, by: Connection): Reply | Promise<Reply>;
  /** What could not be read as a request; the connection ends with this. */
  refuse(fault: WireFault, by: Connection): Reply;
}

/** How long a connection may take for what it does. */
export const timeouts = {
  /** Between two requests. */
  idleMs: 60_000,
  /** From the first byte of a head to its last. */
  headMs: 15_000,
  bodyMs: 30_000,
  /** With an answer of which the client takes nothing. */
  blockedMs: 60_000,
  /** For the client to close its side, after the last answer. */
  closingMs: 5_000,
};

/** Of a body; one that is larger is told by its length or by the one byte more that is read of it. */
export const maxBodyBytes = 64 * 1024;

/** Bytes of later requests that are held while one is answered; then the connection is not read any further. */
const maxHeldBytes = 64 * 1024;

/** What is used of a stream's reader. */
interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

type Phase = "idle" | "head" | "body" | "answering" | "streaming" | "closing" | "closed";

/** One client's connection: its requests one after the other, each answered before the next is looked at. */
export class Connection {
  readonly address: string;
  #phase: Phase = "idle";
  /** When the phase ends at the latest; NaN: to be counted from the next look at the clock. */
  #deadline = Number.NaN;
  /** Received and not yet read. */
  #held: Buffer | null = null;
  #isPaused = false;
  #fields: Fields | null = null;
  #incoming: { readonly head: Head; readonly body: Body } | null = null;
  #reader: Reader | null = null;
  #drained: (() => void) | null = null;
  /** Whether the next answer is the last one. */
  #isLast = false;
  /** Whether the client has said that it sends nothing more. */
  #hasEnded = false;
  readonly #output: Output;

  constructor(
    readonly socket: Socket,
    readonly answerer: Answerer,
    readonly now: () => number,
  ) {
    this.address = socket.remoteAddress;
    this.#output = new Output(socket);
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.#phase === "idle";
  }

  received(bytes: Buffer): void {
    if (this.#phase === "closing" || this.#phase === "closed") return;
    const all = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = null;
    this.#read(all);
  }

  /** The socket takes bytes again. */
  writable(): void {
    const taken = this.#output.resume();
    if (this.#output.isBlocked) {
      if (taken > 0) this.#deadline = this.now() + timeouts.blockedMs;
      return;
    }
    this.#deadline = Number.NaN;
    this.#drained?.();
    this.#drained = null;
    if (this.#phase === "closing") this.#shutdown();
    else if (this.#phase === "idle") this.#goOn();
  }

  /** The client sends nothing more. What it asked for is still answered, but for a stream, which has no end. */
  ended(): void {
    this.#hasEnded = true;
    if (this.#phase === "streaming") this.close();
    else if (this.#phase === "closing") this.#shutdown();
    else this.#endIfOver();
  }

  /** The socket is gone. */
  closed(): void {
    this.#phase = "closed";
    this.#held = null;
    this.#drained?.();
    void this.#reader?.cancel().catch(() => {});
  }

  close(): void {
    if (this.#phase === "closed") return;
    this.socket.terminate();
    this.closed();
  }

  /** Has the connection end with the answer under way, or at once where there is none. */
  finish(): void {
    this.#isLast = true;
    if (this.#phase === "idle") this.#end();
  }

  /** Ends the phase so much from now on at the latest; Infinity: never. */
  limit(ms: number): void {
    this.#deadline = this.now() + ms;
  }

  /** To be called about once a second. */
  look(now: number): void {
    if (Number.isNaN(this.#deadline)) {
      const mayLast = this.#phase === "answering" || this.#phase === "streaming";
      this.#deadline = now + (mayLast ? Number.POSITIVE_INFINITY : timeouts.idleMs);
    }
    if (now < this.#deadline) return;
    if (this.#phase === "idle" && !this.#output.isBlocked) this.#end();
    else if (this.#phase !== "head" && this.#phase !== "body") this.close();
    else this.#refuse(new WireFault(408, "request_timeout", "The request took too long to arrive"));
  }

  #read(bytes: Buffer): void {
    let text = "";
    let at = 0;
    try {
      while (at < bytes.length && this.#mayRead) {
        if (this.#incoming) {
          at = this.#incoming.body.feed(bytes, at);
          if (!this.#incoming.body.ended) break;
          this.#bodyEnded();
          continue;
        }
        text ||= bytes.toString("latin1");
        // Empty lines before a request are to be ignored (RFC 9112, section 2.2).
        if (text.startsWith("\r\n", at)) {
          at += 2;
          continue;
        }
        const end = text.indexOf("\r\n\r\n", at);
        if (end === -1) {
          this.#await(text.slice(at));
          break;
        }
        if (end + 4 - at > maxHeadBytes) throw headTooLarge();
        const head = readHead(text.slice(at, end + 4), this.#fields);
        at = end + 4;
        this.#headEnded(head);
      }
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      this.#refuse(error);
      return;
    }
    this.#output.flush();
    this.#hold(bytes, at);
  }

  get #mayRead(): boolean {
    const isReading = this.#phase === "idle" || this.#phase === "head" || this.#phase === "body";
    return isReading && !this.#output.isBlocked;
  }

  /** The head is not there as a whole. */
  #await(part: string): void {
    if (part.length > maxHeadBytes) throw headTooLarge();
    if (/(?:^|[^\r])\n/.test(part)) {
      throw new WireFault(400, "malformed_request", "Lines of a head end with CR and LF");
    }
    if (this.#phase === "head") return;
    this.#phase = "head";
    this.#deadline = this.now() + timeouts.headMs;
  }

  #hold(bytes: Buffer, at: number): void {
    // A copy: what is held must not hold on to the whole of what was received.
    if (at < bytes.length && this.#phase !== "closing") this.#held = Buffer.from(bytes.subarray(at));
    const isFull = !this.#mayRead && (this.#held?.length ?? 0) > maxHeldBytes;
    if (isFull === this.#isPaused || this.#phase === "closed") return;
    this.#isPaused = isFull;
    if (isFull) this.socket.pause();
    else this.socket.resume();
  }

  #headEnded(head: Head): void {
    const { fields } = head;
    this.#fields = fields;
    if (fields.contentLength === 0) {
      this.#ask(head, null);
      return;
    }
    const body = new Body(fields.contentLength, maxBodyBytes);
    this.#incoming = { head, body };
    if (body.ended) {
      this.#bodyEnded();
      return;
    }
    this.#phase = "body";
    this.#deadline = this.now() + timeouts.bodyMs;
    if (fields.expectsContinue && head.isHttp11) this.#output.add("", continueLine);
  }

  #bodyEnded(): void {
    if (!this.#incoming) return;
    const { head, body } = this.#incoming;
    this.#incoming = null;
    // Where the rest of it is still to come, nobody can tell where the next request begins.
    if (body.isTooLarge) this.#isLast = true;
    this.#ask(head, body.bytes());
  }

  #ask(head: Head, body: Uint8Array<ArrayBuffer> | null): void {
    const { connection } = head.fields;
    if (connection === "close" || (!head.isHttp11 && connection !== "keep-alive")) this.#isLast = true;
    this.#phase = "answering";
    this.#deadline = Number.NaN;
    const reply = this.answerer.answer(head, body, this);
    if (reply instanceof Promise) void reply.then((late) => this.#sendLate(head, late));
    else this.#send(head, reply);
  }

  #sendLate(head: Head, reply: Reply): void {
    if (this.#phase === "closed") dropped(reply);
    else {
      this.#send(head, reply);
      this.#output.flush();
      this.#goOn();
    }
  }

  /** Reads what was held meanwhile. */
  #goOn(): void {
    const held = this.#held;
    this.#held = null;
    this.#read(held ?? empty);
    if (this.#hasEnded) this.#endIfOver();
  }

  /** Once the client has ended, what it has not sent by now will not come. */
  #endIfOver(): void {
    if (this.#mayRead || (this.#phase === "idle" && this.#held === null)) this.#end();
  }

  #send(head: Head, reply: Reply): void {
    const { body } = reply;
    const isStream = body instanceof ReadableStream;
    if (isStream && !head.isHttp11) this.#isLast = true;
    const start = headOf(head, reply, !this.#isLast);
    const isBodiless = head.method === "HEAD" || reply.status === 304 || reply.status === 204;
    if (isStream && !isBodiless) {
      this.#output.add(start, null);
      return void this.#stream(body.getReader(), head.isHttp11);
    }
    if (isStream) dropped(reply);
    this.#output.add(start, isStream || isBodiless ? null : body);
    if (this.#isLast) this.#end();
    else this.#phase = "idle";
    this.#deadline = Number.NaN;
  }

  /** A stream that breaks off breaks the connection, so that nobody takes what came of it for the whole. */
  async #stream(reader: Reader, isChunked: boolean): Promise<void> {
    this.#phase = "streaming";
    this.#reader = reader;
    this.#output.flush();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (value?.byteLength) await this.#sendPart(isChunked ? chunkOf(value) : value);
      }
      if (this.#phase !== "streaming") return;
      if (isChunked) await this.#sendPart(lastChunk);
    } catch {
      return this.close();
    } finally {
      this.#reader = null;
    }
    if (this.#phase !== "streaming") return;
    if (this.#isLast) return this.#end();
    this.#phase = "idle";
    this.#deadline = Number.NaN;
    this.#goOn();
  }

  async #sendPart(bytes: Uint8Array): Promise<void> {
    this.#output.add("", bytes);
    this.#output.flush();
    if (!this.#output.isBlocked) return;
    this.#deadline = Math.min(this.now() + timeouts.blockedMs, this.#deadline || Number.POSITIVE_INFINITY);
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  #refuse(fault: WireFault): void {
    this.#isLast = true;
    this.#incoming = null;
    const reply = this.answerer.refuse(fault, this);
    this.#send(unread, reply);
    this.#output.flush();
  }

  /** No more requests; closed as soon as the client has taken everything. */
  #end(): void {
    this.#phase = "closing";
    this.#output.flush();
    if (!this.#output.isBlocked) this.#shutdown();
    else this.#deadline = this.now() + timeouts.blockedMs;
  }

  /** The client closes next. Closed by us with something unread, it might lose the answer (RFC 9112, section 9.6). */
  #shutdown(): void {
    if (this.#isPaused) this.socket.resume();
    if (this.#hasEnded) this.socket.end();
    else this.socket.shutdown();
    this.#deadline = this.now() + timeouts.closingMs;
  }
}

const empty = Buffer.alloc(0);

/** Stands for a request that could not be read. */
const unread: Head = { method: "GET", target: "/", isHttp11: true, fields: null as unknown as Fields };

/** Nobody takes the answer. */
function dropped({ body }: Reply): void {
  if (body instanceof ReadableStream) void body.cancel().catch(() => {});
}
