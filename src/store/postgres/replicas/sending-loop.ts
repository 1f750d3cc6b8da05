/** Where what is to be sent gathers, and how all of it is sent. */
interface Gathered {
  isEmpty(): boolean;
  /** Sends what has gathered. false: some of it is to be sent again, and has gathered with what was added meanwhile. */
  send(): Promise<boolean>;
}

/** Sends what gathers, batch after batch, and again after a pause where that failed. */
export class SendingLoop {
  #isRunning = false;
  #isClosed = false;
  #timer: Timer | null = null;

  constructor(
    readonly gathered: Gathered,
    readonly againAfterMs: number,
  ) {}

  /** Something was added. It is sent at once, unless something is being sent, or waits to be sent again. */
  wake(): void {
    if (!this.#isRunning) void this.#run();
  }

  /** Sends nothing any more; what is being sent may end. */
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
