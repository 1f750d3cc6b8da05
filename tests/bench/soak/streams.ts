import type { ServerProcess } from "../../support/process.ts";
import { Latencies, numberOf } from "./numbers.ts";

/** Clients of the event stream. */
export class SoakStreams extends Latencies {
  #open: AbortController[] = [];

  open(server: ServerProcess, token: string, count: number): void {
    for (let i = 0; i < count; i++) this.#openOne(server, token);
  }

  /** Ends the one that is open for the longest, and opens another. */
  reopenOne(server: ServerProcess, token: string): void {
    this.#open.shift()?.abort();
    this.#openOne(server, token);
  }

  close(): void {
    for (const stream of this.#open) stream.abort();
    this.#open = [];
  }

  #openOne(server: ServerProcess, token: string): void {
    const ended = new AbortController();
    this.#open.push(ended);
    this.#read(server, token, ended.signal).catch((error) => {
      if (!ended.signal.aborted) process.stderr.write(`a stream ended: ${error}\n`);
    });
  }

  async #read({ publicUrl }: ServerProcess, token: string, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${publicUrl}/public/v1/events/stream`, { headers, signal });
    if (!answer.ok || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`);
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of answer.body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("data:")) continue;
        const { body } = JSON.parse(line.slice("data:".length)) as { body?: string };
        if (body !== undefined) this.arrived(numberOf(body));
      }
    }
  }
}
