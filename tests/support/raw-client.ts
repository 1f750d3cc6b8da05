import { connect, type Socket } from "node:net";
import { until } from "./until.ts";

/** An answer as received over the wire. */
interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const statusLine = /^HTTP\/1\.1 ([1-5][0-9]{2}) ([\t\x20-\x7e]*)$/;
const field = /^([!#$%&'*+.^_`|~0-9a-z-]+): ([\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/i;
/** Fields that must not be repeated. */
const single = ["content-length", "transfer-encoding", "connection", "date", "content-type", "x-request-id"];

/**
 * Parses the answers to requests of these methods strictly, from text with one character per byte. Incomplete or
 * unrequested bytes are the `rest`. Throws if an answer is malformed. Interim answers (100) are included.
 */
function readAnswers(
  text: string,
  methods: readonly string[],
): { readonly answers: readonly RawAnswer[]; readonly rest: string } {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (let asked = 0; asked < methods.length && rest !== ""; ) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) break;
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const [, status = ""] = statusLine.exec(first) ?? [];
    if (status === "") throw new Error(`no status line: ${JSON.stringify(first)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, given = "", value = ""] = field.exec(line) ?? [];
      const name = given.toLowerCase();
      if (name === "") throw new Error(`no field: ${JSON.stringify(line)}`);
      if (headers.has(name) && single.includes(name)) throw new Error(`twice: ${name}`);
      headers.set(name, value);
    }
    const isInterim = status.startsWith("1");
    const bodiless = isInterim || methods[asked] === "HEAD" || status === "204" || status === "304";
    const found = bodiless ? { body: "", length: 0 } : readBody(headers, rest.slice(end + 4));
    if (found === null) break;
    answers.push({ status: Number(status), headers, body: found.body });
    rest = rest.slice(end + 4 + found.length);
    if (!isInterim) asked++;
  }
  return { answers, rest };
}

/** @returns null when it is incomplete */
function readBody(headers: ReadonlyMap<string, string>, text: string) {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (length !== undefined && coding !== undefined) throw new Error("two lengths");
  if (length === undefined && coding === undefined) {
    if (headers.get("connection") !== "close") throw new Error("no length");
    return { body: text, length: text.length };
  }
  if (length !== undefined) {
    if (!/^[0-9]+$/.test(length)) throw new Error(`no length: ${length}`);
    return text.length < Number(length)
      ? null
      : { body: text.slice(0, Number(length)), length: Number(length) };
  }
  if (coding !== "chunked") throw new Error(`no coding: ${coding}`);
  let body = "";
  for (let at = 0; ; ) {
    const line = text.indexOf("\r\n", at);
    if (line === -1) return null;
    const hex = text.slice(at, line);
    if (!/^[0-9a-f]+$/i.test(hex)) throw new Error(`no size of a chunk: ${JSON.stringify(hex)}`);
    const size = Number.parseInt(hex, 16);
    const end = line + 2 + size;
    if (text.length < end + 2) return null;
    if (text.slice(end, end + 2) !== "\r\n") throw new Error("a chunk does not end");
    body += text.slice(line + 2, end);
    at = end + 2;
    if (size === 0) return { body, length: at };
  }
}

/** What comes back for these bytes until the other side ends the connection, each byte a character. */
export async function exchange(url: string, bytes: string): Promise<string> {
  const client = new RawClient(url).send(bytes);
  await until(() => client.hasEnded || client.isClosed);
  client.socket.destroy();
  return client.text;
}

/** A client that sends bytes as they are, and sees those that come. */
export class RawClient {
  readonly socket: Socket;
  readonly #pieces: string[] = [];
  /** Whether the server has ended its side. */
  hasEnded = false;
  isClosed = false;

  /** @param url where the server listens; it keeps its side open when the server has closed its own */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    this.socket.on("data", (bytes) => void this.#pieces.push(bytes.toString("latin1")));
    this.socket.on("end", () => {
      this.hasEnded = true;
    });
    this.socket.on("close", () => {
      this.isClosed = true;
    });
    this.socket.on("error", () => {});
  }

  /** Everything that has come, each byte a character. */
  get text(): string {
    return this.#pieces.join("");
  }

  send(text: string): this {
    this.socket.write(text, "latin1");
    return this;
  }

  /** The answers that came until the server ended its side; nothing else may come. Then this side ends, too. */
  async toEnd(): Promise<readonly RawAnswer[]> {
    await until(() => this.hasEnded || this.isClosed);
    this.socket.destroy();
    const { answers, rest } = readAnswers(this.text, Array(100).fill("GET"));
    if (rest !== "") throw new Error(`more came than answers: ${JSON.stringify(rest)}`);
    return answers;
  }

  /** So many answers to requests of one method, once they have come; nothing may come behind them. */
  async answers(count = 1, method = "GET"): Promise<readonly RawAnswer[]> {
    const read = () => readAnswers(this.text, Array(count).fill(method));
    await until(() => read().answers.filter(({ status }) => status >= 200).length === count);
    const { answers, rest } = read();
    if (rest !== "") throw new Error(`more came than was asked for: ${JSON.stringify(rest)}`);
    return answers;
  }

  /** Closes the connection by RST. */
  reset(): void {
    this.socket.resetAndDestroy();
  }
}
