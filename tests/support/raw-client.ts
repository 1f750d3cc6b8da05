import { connect, type Socket } from "node:net";
import { type RawAnswer, readAnswers } from "./http-answers.ts";
import { until } from "./until.ts";

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
