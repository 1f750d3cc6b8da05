import type { Answerer, Later } from "../../src/wire/answerer.ts";
import { Connection } from "../../src/wire/connection.ts";
import type { CrowdLimits } from "../../src/wire/crowd.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { type Head, readHead } from "../../src/wire/head.ts";
import { endTurn } from "../../src/wire/output.ts";
import type { Reply } from "../../src/wire/reply.ts";
import type { Socket } from "../../src/wire/socket.ts";
import type { Accounts } from "../../src/wire/tally.ts";

/** Limits that nobody reaches. */
export const unlimited: CrowdLimits = {
  connections: Number.POSITIVE_INFINITY,
  perClient: Number.POSITIVE_INFINITY,
  heldBytes: Number.POSITIVE_INFINITY,
  clientOf: (address) => address,
};

/** A socket that takes as much as it has room for, and remembers what was done to it. */
export class FakeSocket implements Socket {
  /** How many bytes it takes until there is more room. */
  room = Number.POSITIVE_INFINITY;
  text = "";
  /** Calls of `write`. */
  writes = 0;
  isPaused = false;
  ending: "none" | "shutdown" | "end" | "terminate" = "none";

  constructor(readonly remoteAddress = "192.0.2.1") {}

  write(bytes: Uint8Array, offset: number, length: number): number {
    this.writes++;
    if (this.ending !== "none") return -1;
    const taken = Math.min(length, this.room);
    this.room -= taken;
    this.text += Buffer.from(bytes.subarray(offset, offset + taken)).toString("latin1");
    return taken;
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  shutdown(): void {
    this.ending = "shutdown";
  }
  end(): void {
    this.ending = "end";
  }
  terminate(): void {
    this.ending = "terminate";
  }
}

/** A connection on a fake socket with a clock that stands still. */
export class FakeConnection {
  readonly socket: FakeSocket;
  readonly connection: Connection;
  ms = 1_000_000;
  /** The targets that were asked for, in order. */
  readonly asked: string[] = [];
  readonly #late = new Map<string, (reply: Reply) => void>();

  /** @param answer what a request is answered with at once; null: by `resolve`, later */
  constructor(
    answer: (head: Head, body: Uint8Array | null) => Reply | Later | null = ({ target }) => ok(target),
    accounts?: Accounts,
    address?: string,
  ) {
    this.socket = new FakeSocket(address);
    const answerer: Answerer = {
      answer: (head, body) => {
        this.asked.push(head.target);
        const reply = answer(head, body);
        return reply ?? ((send) => void this.#late.set(head.target, send));
      },
      refuse: ({ status, code }: WireFault) => ({ status, head: "", body: Buffer.from(code) }),
      turnAway: () => ({ ...ok("no place"), status: 503 }),
    };
    this.connection = new Connection(this.socket, answerer, () => this.ms, accounts);
  }

  receive(...texts: string[]): void {
    for (const text of texts) this.connection.received(Buffer.from(text, "latin1"));
    endTurn();
  }

  /** Answers a request of which `answer` said null. */
  async resolve(target: string, reply: Reply = ok(target)): Promise<void> {
    this.#late.get(target)?.(reply);
    await nextTurn();
  }

  /** The socket has room for so many bytes more. */
  drain(bytes = Number.POSITIVE_INFINITY): void {
    this.socket.room += bytes;
    this.connection.writable();
    endTurn();
  }

  /** Lets time pass, looked at each second as a server does. */
  pass(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this.ms += 1_000;
      if (this.socket.ending !== "terminate") this.connection.look(this.ms);
    }
  }

  /** What was sent, without the dates. */
  get sent(): string {
    return this.socket.text.replace(/^date: .*\r\n/gm, "");
  }

  /** The bodies, or what else came, of the answers that were sent. */
  get answers(): string[] {
    return this.sent.split(/(?=HTTP\/1\.1 )/).map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4));
  }
}

/** Of the event loop. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

export function ok(text: string): Reply {
  return { status: 200, head: "", body: Buffer.from(text) };
}

export const get = (target: string, ...lines: string[]) => request("GET", target, ...lines);

export const request = (method: string, target: string, ...lines: string[]) =>
  headOf(`${method} ${target} HTTP/1.1`, "Host: a", ...lines);

/** A head of these lines. */
export function headOf(...lines: string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A head, or the status and code that it is refused with. */
export function read(text: string): Head | [number, string] {
  try {
    return readHead(text, null);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    return [error.status, error.code];
  }
}

/** The status and code that a head is refused with; null where it is not. */
export function refusal(text: string): [number, string] | null {
  const result = read(text);
  return Array.isArray(result) ? result : null;
}

export const malformed: [number, string] = [400, "malformed_request"];
