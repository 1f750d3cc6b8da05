/** The messages that wait to be sent. */
interface Gathered {
  isEmpty(): boolean;
  /** Sends the messages. Resolves to false when some have failed; they are then waiting again, beside new ones. */
  send(): Promise<boolean>;
}

/** Sends collected messages, batch after batch. After a failure it pauses before the next batch. */
export class SendingLoop {
  #isRunning = false;
  #isClosed = false;
  #timer: Timer | null = null;

  constructor(
    readonly gathered: Gathered,
    readonly againAfterMs: number,
  ) {}

  /** Call this when a message was added. It is sent at once, or after the batch or pause in progress. */
  wake(): void {
    if (!this.#isRunning) void this.#run();
  }

  /** Stops sending. A batch in progress may end. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isClosed && !this.gathered.isEmpty()) {
      if ((await this.gathered.send()) || this.#isClosed) continue;
      this.#timer = setTimeout(() => void this.#run(), this.againAfterMs);
      return;
    }
    this.#isRunning = false;
  }
}
