import type { Answerer } from "./answerer.ts";
import { WireFault } from "./fault.ts";
import { type Head, memoryOf } from "./head.ts";
import { Output } from "./output.ts";
import { continueLine, dropped, headOf, type Reply, unread } from "./reply.ts";
import { type Arrived, Requests } from "./requests.ts";
import type { Socket } from "./socket.ts";
import { Streamed } from "./streamed.ts";
import { type Accounts, type Cut, uncounted } from "./tally.ts";
import { slowestBytesPerMs, timeouts } from "./timeouts.ts";

/** Bytes of later requests that are held while one is answered; then the connection is not read any further. */
const maxHeldBytes = 64 * 1024;

/** Requests of one connection that are answered in one turn of the event loop; then others have theirs. */
const maxAtOnce = 32;

/** Idle is also who is being read. */
type Phase = "idle" | "answering" | "streaming" | "closing" | "closed";

/** One client's connection: its requests one after the other, each answered before the next is looked at. */
export class Connection {
  readonly address: string;
  /** What it held when it was last counted. */
  heldBytes = 0;
  #phase: Phase = "idle";
  /** When the phase ends at the latest; NaN: to be counted from the next look at the clock. */
  #deadline = Number.NaN;
  /** When it is closed whatever its phase is. */
  #cutAt = Number.POSITIVE_INFINITY;
  readonly #requests = new Requests();
  /** The part of a request that is waited for since the deadline was set. */
  #awaited: Requests["part"] = "nothing";
  /** Requests since the socket last said something: answers that take no time keep everybody else waiting. */
  #atOnce = 0;
  #isPaused = false;
  /** Of a request that is being answered. */
  #askedBytes = 0;
  #streamed: Streamed | null = null;
  /** Whether the next answer is the last one. */
  #isLast = false;
  /** Whether the client has said that it sends nothing more. */
  #hasEnded = false;
  readonly #output: Output;

  constructor(
    readonly socket: Socket,
    readonly answerer: Answerer,
    readonly now: () => number,
    readonly accounts: Accounts = uncounted,
  ) {
    // One that is gone already has none.
    this.address = socket.remoteAddress ?? "";
    this.#output = new Output(socket, () => this.#waits());
  }

  received(bytes: Buffer): void {
    if (this.#phase === "closing" || this.#phase === "closed") return;
    this.#requests.add(bytes);
    this.#atOnce = 0;
    this.#read();
  }

  /** The socket takes bytes again. */
  writable(): void {
    if (!this.#output.isBlocked) return;
    const taken = this.#output.resume();
    if (this.#output.isBlocked) {
      if (this.#output.isBroken) return void this.close();
      const gained = this.#deadline + taken / slowestBytesPerMs;
      this.#deadline = Math.min(gained, this.now() + timeouts.blockedMs);
      this.#count();
      return;
    }
    this.#deadline = Number.NaN;
    this.#awaited = "nothing";
    this.#streamed?.drained();
    if (this.#phase === "closing") this.#shutdown();
    else this.#read();
    this.#count();
  }

  /** The client has yet to take something. What it sends meanwhile has its time afterwards. */
  #waits(): void {
    if (this.#phase === "idle") this.#deadline = Number.NaN;
    // Of a socket that is not read any further, Bun does not tell when it is gone.
    if (this.#output.isBroken) queueMicrotask(() => this.close());
    this.#count();
  }

  /** The client sends nothing more. What it asked for is still answered, but for a stream, which has no end. */
  ended(): void {
    this.#hasEnded = true;
    if (this.#phase === "streaming") {
      this.#streamed?.cancel();
      this.#end();
    } else if (this.#phase !== "closing") this.#endIfOver();
    else if (!this.#output.isBlocked) this.#shutdown();
  }

  /** The socket is gone. */
  closed(): void {
    this.#phase = "closed";
    this.#streamed?.cancel();
    this.#count();
  }

  /** Closes at once. A client that has the last answer on its way still gets it. */
  close(): void {
    if (this.#phase === "closed") return;
    if (this.#phase === "closing" && !this.#output.isBlocked) this.socket.end();
    else this.socket.terminate();
    this.closed();
  }

  /** Closes at once, which is counted. */
  cut(why: Cut): void {
    this.accounts.cut(why);
    this.close();
  }

  /** Whether nobody waits for anything. */
  get isIdle(): boolean {
    return this.#phase === "idle" && this.#awaited === "nothing" && !this.#output.isBlocked;
  }

  /** There is no place for it. */
  turnAway(): void {
    this.#isLast = true;
    this.#send(unread, this.answerer.turnAway());
    this.limit(timeouts.unusedMs);
  }

  /** Has the connection end with the answer under way, or at once where there is none. */
  finish(): void {
    this.#isLast = true;
    if (this.#phase !== "idle") return;
    this.#end();
    if (!this.#output.isBlocked) this.limit(timeouts.unusedMs);
  }

  /** Closes it so much from now on, whatever it does until then; Infinity: never. */
  limit(ms: number): void {
    this.#cutAt = this.now() + ms;
  }

  /** To be called about once a second. `isCrowded` is whether others may be in need of its place. */
  look(now: number, isCrowded = false): void {
    if (now >= this.#cutAt) return void this.close();
    if (Number.isNaN(this.#deadline)) {
      const mayLast = this.#phase === "answering" || this.#phase === "streaming";
      const ms = this.#output.isBlocked ? timeouts.blockedMs : timeouts.idleMs;
      this.#deadline = mayLast ? Number.POSITIVE_INFINITY : now + ms;
    }
    const earlierMs = isCrowded && this.isIdle ? timeouts.idleMs - timeouts.crowdedIdleMs : 0;
    if (now < this.#deadline - earlierMs) return;
    if (this.#output.isBlocked) this.cut("slow");
    else if (this.#phase !== "idle") this.close();
    else if (this.#awaited === "nothing") {
      if (now < this.#deadline) this.accounts.cut("idle");
      this.#end();
    } else this.#refuse(new WireFault("request_timeout", "The request took too long to arrive"));
  }

  /** Answers what has arrived, as far as one answer after the other can be given. */
  #read(): void {
    try {
      while (this.#phase === "idle" && !this.#output.isBlocked) {
        if (this.#atOnce++ === maxAtOnce) this.#pass();
        else {
          const arrived = this.#requests.next();
          if (arrived === null) break;
          this.#ask(arrived);
        }
      }
    } catch (error) {
      if (error instanceof WireFault) this.#refuse(error);
      else this.close();
      return;
    }
    this.#requests.settle();
    if (this.#phase === "idle") this.#await();
    this.#throttle();
    if (this.#hasEnded) this.#endIfOver();
    this.#count();
  }

  /** Tells what it holds. */
  #count(): void {
    const held =
      this.#phase === "closed" ? 0 : this.#requests.keptBytes + this.#output.waitingBytes + this.#askedBytes;
    if (held === this.heldBytes) return;
    const more = held - this.heldBytes;
    this.heldBytes = held;
    this.accounts.hold(more);
  }

  /** Goes on in the next turn of the event loop; until then it is as if an answer were waited for. */
  #pass(): void {
    this.#phase = "answering";
    setImmediate(() => {
      if (this.#phase === "closed") return;
      this.#atOnce = 0;
      this.#answered();
      this.#read();
    });
  }

  /** Sets the deadline for what is still to come of a request. */
  #await(): void {
    const { part } = this.#requests;
    if (this.#requests.takeExpectation()) this.#output.add("", continueLine);
    if (part === this.#awaited) return;
    this.#awaited = part;
    const ms = part === "head" ? timeouts.headMs : timeouts.bodyMs;
    this.#deadline = part === "nothing" ? Number.NaN : this.now() + ms;
  }

  /** Reads no further while much is held. */
  #throttle(): void {
    const isFull = this.#requests.heldBytes > maxHeldBytes;
    if (isFull === this.#isPaused || this.#phase === "closing" || this.#phase === "closed") return;
    this.#isPaused = isFull;
    if (isFull) this.socket.pause();
    else this.socket.resume();
  }

  #ask({ head, body, isTooLarge }: Arrived): void {
    const { connection } = head.fields;
    if (isTooLarge || connection === "close" || (!head.isHttp11 && connection !== "keep-alive"))
      this.#isLast = true;
    this.#phase = "answering";
    this.#awaited = "nothing";
    this.#deadline = Number.NaN;
    const reply = this.answerer.answer(head, body, this);
    if (typeof reply === "function") {
      this.#askedBytes = memoryOf(head.fields) + (body?.byteLength ?? 0);
      reply((late) => this.#sendLate(head, late));
    } else this.#send(head, reply);
  }

  #sendLate(head: Head, reply: Reply): void {
    this.#askedBytes = 0;
    try {
      if (this.#phase === "closed") dropped(reply);
      else {
        this.#send(head, reply);
        this.#read();
      }
    } catch {
      this.close();
    }
  }

  /** Once the client has ended, what it has not sent by now will not come. */
  #endIfOver(): void {
    if (this.#phase === "idle" && !this.#output.isBlocked) this.#end();
  }

  #send(head: Head, reply: Reply): void {
    const { body } = reply;
    const isStream = body instanceof ReadableStream;
    if (isStream && !head.isHttp11) this.#isLast = true;
    const start = headOf(head, reply, !this.#isLast);
    const isBodiless = head.method === "HEAD" || reply.status === 304 || reply.status === 204;
    if (!isStream || isBodiless) {
      if (isStream) dropped(reply);
      this.#output.add(start, isStream || isBodiless ? null : body, reply.ready?.bytes);
      this.#answered();
    } else if (this.#hasEnded) {
      // It might go to somebody who has left, which shows only when something is sent.
      dropped(reply);
      this.#end();
    } else {
      this.#output.add(start, null, reply.ready?.bytes);
      void this.#stream(body, head.isHttp11);
    }
  }

  #answered(): void {
    this.#phase = "idle";
    this.#deadline = Number.NaN;
    if (this.#isLast) this.#end();
  }

  /** A stream that breaks off breaks the connection, so that nobody takes what came of it for the whole. */
  async #stream(stream: ReadableStream<Uint8Array>, isChunked: boolean): Promise<void> {
    this.#phase = "streaming";
    const blocked = () => {
      const atMost = this.now() + timeouts.blockedMs;
      this.#deadline = Number.isNaN(this.#deadline) ? atMost : Math.min(atMost, this.#deadline);
      this.#count();
    };
    try {
      this.#streamed = new Streamed(stream, isChunked, this.#output, blocked);
      this.#output.flush();
      await this.#streamed.send();
      this.#streamed = null;
      // Another phase only where the connection was closed meanwhile.
      if (this.#phase !== "streaming") return;
      this.#answered();
      this.#read();
    } catch {
      this.close();
    }
  }

  #refuse(fault: WireFault): void {
    this.#isLast = true;
    const reply = this.answerer.refuse(fault, this);
    this.#send(unread, reply);
    this.#output.flush();
    this.#count();
  }

  /** No more requests; closed as soon as the client has taken everything. */
  #end(): void {
    this.#phase = "closing";
    this.#requests.clear();
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
