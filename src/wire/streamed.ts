import type { Output } from "./output.ts";
import { chunkOf, lastChunk } from "./reply.ts";

/** What is used of a stream's reader. */
interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** A body of unknown length, sent as fast as the client takes it. */
export class Streamed {
  readonly #reader: Reader;
  #drained: (() => void) | null = null;
  #isCanceled = false;

  /** @param isChunked otherwise it ends with the connection */
  constructor(
    stream: ReadableStream<Uint8Array>,
    readonly isChunked: boolean,
    readonly output: Output,
    /** Told when the client has yet to take something. */
    readonly blocked: () => void,
  ) {
    this.#reader = stream.getReader() as Reader;
  }

  /** Resolves once all of it was sent or `cancel` was called; rejects when the stream breaks off. */
  async send(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done || this.#isCanceled) break;
      if (value?.byteLength) await this.#send(this.isChunked ? chunkOf(value) : value);
    }
    if (this.isChunked && !this.#isCanceled) await this.#send(lastChunk);
  }

  /** The client has taken everything. */
  drained(): void {
    this.#drained?.();
    this.#drained = null;
  }

  /** Nobody takes it any more. */
  cancel(): void {
    this.#isCanceled = true;
    this.drained();
    void this.#reader.cancel().catch(() => {});
  }

  async #send(bytes: Uint8Array): Promise<void> {
    this.output.add("", bytes);
    this.output.flush();
    if (!this.output.isBlocked) return;
    this.blocked();
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }
}
