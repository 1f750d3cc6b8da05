import type { Socket } from "bun";
import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import { sampleBodies } from "../../support/bodies.ts";
import { adminKey } from "../../support/server.ts";
import { BenchError } from "./processes.ts";

/** An answer, and how long after its request was written it was there, in milliseconds. */
export interface WireAnswer {
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

interface Line {
  readonly socket: Socket<undefined>;
  text: string;
  /** Where the answer ends in `text`; 0 as long as that is not known. */
  end: number;
  rest: Uint8Array | null;
  sentAt: number;
  waiting: PromiseWithResolvers<WireAnswer> | null;
}

const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

/**
 * Sends HTTP/1.1 requests over kept connections, a tenth of the cost of `fetch`. Each connection carries one request
 * at a time; where none is free a new one is made, so that a server that is slow to answer is still asked on time.
 */
export class Wire {
  readonly #url: URL;
  readonly #head: string;
  readonly #free: Line[] = [];
  readonly #all = new Set<Line>();

  /** @param url where to, without a path; `headers` go with every request */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = new URL(url);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#head = `host: ${this.#url.host}\r\n${lines.join("")}`;
  }

  get(path: string): Promise<WireAnswer> {
    return this.#send(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`);
  }

  /** `head` holds further headers, each with its line end. */
  post(path: string, body: string, head?: string): Promise<WireAnswer> {
    return this.#sendBody("POST", path, body, head);
  }

  put(path: string, body: string): Promise<WireAnswer> {
    return this.#sendBody("PUT", path, body);
  }

  #sendBody(method: string, path: string, body: string, head = "content-type: application/json\r\n") {
    const length = Buffer.byteLength(body);
    return this.#send(
      `${method} ${path} HTTP/1.1\r\n${this.#head}${head}content-length: ${length}\r\n\r\n${body}`,
    );
  }

  delete(path: string): Promise<WireAnswer> {
    return this.#send(`DELETE ${path} HTTP/1.1\r\n${this.#head}\r\n`);
  }

  async #send(request: string): Promise<WireAnswer> {
    const line = this.#free.pop() ?? (await this.#connect());
    const waiting = Promise.withResolvers<WireAnswer>();
    line.waiting = waiting;
    line.text = "";
    line.end = 0;
    line.sentAt = performance.now();
    const bytes = encoder.encode(request);
    const written = line.socket.write(bytes);
    if (written < bytes.length) line.rest = bytes.subarray(Math.max(written, 0));
    return waiting.promise;
  }

  async #connect(): Promise<Line> {
    let line: Line | null = null;
    const broken = () => {
      if (line) this.#all.delete(line);
      // A server closes connections that were idle for long.
      const free = line ? this.#free.indexOf(line) : -1;
      if (free !== -1) this.#free.splice(free, 1);
      line?.waiting?.reject(new BenchError(`${this.#url.host} closed the connection`));
    };
    const socket = await Bun.connect({
      hostname: this.#url.hostname,
      port: Number(this.#url.port),
      socket: {
        data: (_, chunk) => {
          if (line) this.#read(line, chunk);
        },
        drain: ({ write }) => {
          const rest = line?.rest;
          if (!line || !rest) return;
          const written = write.call(line.socket, rest);
          line.rest = written < rest.length ? rest.subarray(Math.max(written, 0)) : null;
        },
        close: broken,
        error: broken,
      },
    });
    line = { socket, text: "", end: 0, rest: null, sentAt: 0, waiting: null };
    this.#all.add(line);
    return line;
  }

  /** A long answer comes in many chunks: its head is looked for only until it is there. */
  #read(line: Line, chunk: Uint8Array): void {
    line.text += decoder.decode(chunk);
    if (line.end === 0) {
      const headEnd = line.text.indexOf("\r\n\r\n");
      if (headEnd === -1) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(line.text.slice(0, headEnd + 2))?.[1];
      line.end = headEnd + 4 + Number(length ?? 0);
    }
    const { text, end } = line;
    if (text.length < end) return;
    const ms = performance.now() - line.sentAt;
    const waiting = line.waiting;
    line.waiting = null;
    this.#free.push(line);
    const status = Number(text.slice(9, 12));
    waiting?.resolve({ status, body: text.slice(text.indexOf("\r\n\r\n") + 4), ms });
  }

  close(): void {
    for (const { socket } of this.#all) socket.end();
  }
}

/**
 * Calls `act` at a fixed rate for some seconds, whether earlier calls have ended or not; resolves when all have.
 * Calls that a busy core has made late are made up for at once.
 */
export async function atRate(
  perSecond: number,
  seconds: number,
  act: (n: number) => Promise<unknown>,
): Promise<void> {
  const open: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1000) * perSecond);
    while (n < due) open.push(act(n++));
    await Bun.sleep(1);
  }
  await Promise.all(open);
}

/**
 * Asks for a path at fixed times for as long as something is done, whether earlier answers have come or not, so that a
 * server that is held up is seen for all that time. Gives how long each answer took, in milliseconds.
 */
export async function whileAsking(
  wire: Wire,
  { path, everyMs }: { readonly path: string; readonly everyMs: number },
  work: () => Promise<unknown>,
): Promise<number[]> {
  const took: number[] = [];
  const open: Promise<unknown>[] = [];
  const ask = async () => {
    const { status, body, ms } = await wire.get(path);
    if (status !== 200) throw new BenchError(`GET ${path} is answered by ${status}: ${body}`);
    took.push(ms);
  };
  const timer = setInterval(() => open.push(ask()), everyMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  await Promise.all(open);
  return took;
}

/** The payloads of events, in turn. */
const payloads = sampleBodies(100)
  .filter(({ type }) => type === channelFollowed.name)
  .flatMap(({ bodies }) => bodies.map((body) => JSON.stringify(JSON.parse(body).data)));
let published = 0;

/** An event as the platform publishes it, in JSON; the body of its deliveries has some 650 bytes. */
export function eventText(broadcaster: number, id: string): string {
  const data = payloads[published++ % payloads.length];
  return `{"id":"${id}","name":"${channelFollowed.name}","version":1,"broadcaster_user_id":${broadcaster},"data":${data}}`;
}

let eventIds = 0;

/** An event id that no other of this run has. */
export function newEventId(): string {
  return `bench-${(++eventIds).toString(36)}.`;
}

/** Publishes events over kept connections. */
export class Publishers {
  readonly wire: Wire;

  constructor(onAir: { readonly adminUrl: string }) {
    this.wire = new Wire(onAir.adminUrl, { authorization: `Bearer ${adminKey}` });
  }

  /** One event; gives the milliseconds until it was acknowledged, and throws when it is refused. */
  async publish(broadcaster: number, id: string): Promise<number> {
    const { status, body, ms } = await this.wire.post("/admin/v1/events", eventText(broadcaster, id));
    if (status !== 202) throw new BenchError(`On Air does not take an event: ${status} ${body}`);
    return ms;
  }

  /** Many events in one request of NDJSON. */
  async publishAll(broadcaster: number, ids: readonly string[]): Promise<void> {
    const lines = ids.map((id) => eventText(broadcaster, id)).join("\n");
    const type = "content-type: application/x-ndjson\r\n";
    const { status, body } = await this.wire.post("/admin/v1/events", lines, type);
    if (status === 202 && (JSON.parse(body) as { accepted: number }).accepted === ids.length) return;
    throw new BenchError(`On Air does not take all events: ${status} ${body}`);
  }
}

/**
 * So many publishers, each of which begins its next event when its last one is acknowledged, as long as there is to be
 * another one. Gives what each event took, as `publish` tells it.
 */
export async function publishByMany(
  publishers: number,
  another: () => boolean,
  publish: (publisher: number) => Promise<number>,
): Promise<number[]> {
  const took: number[] = [];
  const loop = async (publisher: number) => {
    while (another()) took.push(await publish(publisher));
  };
  await Promise.all(Array.from({ length: publishers }, (_, publisher) => loop(publisher)));
  return took;
}
