/** What takes lines: at once, or with a promise while the other side has yet to take them, which may reject. */
export interface LineWriter {
  write(lines: Uint8Array): unknown;
  flush(): unknown;
  /** Lets go of the descriptor; of one that has failed it may fail as well. */
  end(): unknown;
}

interface LogOutputOptions {
  /** Makes what writes; again whenever the last one has failed, after which it may take nothing. */
  readonly open?: () => LineWriter;
  readonly now?: () => number;
  /** What may wait for a reader; a second of the log at 75,000 requests a second. */
  readonly mostBytes?: number;
  /** For how long `flush` waits at most. */
  readonly flushMs?: number;
}

/**
 * Where a log's lines go: to standard error. Whoever reads them may be slow, stuck or gone, and the disk may be full:
 * nobody waits for that, and no more than `mostBytes` are kept meanwhile. Lines beyond, and those that cannot be written,
 * are left out, which a line says as soon as there is room for one.
 */
export class LogOutput {
  /** Since the start. */
  linesLeftOut = 0;
  #untold = 0;
  /** Whether the next lines are for a new writer. */
  #isStale = false;
  /** Whether the last thing that was written may be a part of a line. */
  #isCut = false;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #writer: LineWriter | null = null;
  /** Resolves when nothing waits any more; null when nothing does. */
  #sending: Promise<void> | null = null;
  readonly #open: () => LineWriter;
  readonly #now: () => number;
  readonly #mostBytes: number;
  readonly #flushMs: number;

  constructor({
    open = () => Bun.stderr.writer(),
    now = Date.now,
    mostBytes = 16 * 2 ** 20,
    flushMs = 1_000,
  }: LogOutputOptions = {}) {
    this.#open = open;
    this.#now = now;
    this.#mostBytes = mostBytes;
    this.#flushMs = flushMs;
  }

  /** Takes whole lines; the bytes may be changed afterwards. */
  write(lines: Uint8Array): void {
    if (this.#sending === null) {
      const pending = this.#hand(lines);
      if (pending !== null) this.#sending = this.#sendAll(pending);
    } else if (this.#waitingBytes + lines.length > this.#mostBytes) this.#leaveOut(lines);
    else {
      this.#waiting.push(new Uint8Array(lines));
      this.#waitingBytes += lines.length;
    }
  }

  /** Waits until all is written, but not for long: a server must be able to stop, whoever reads its log. */
  async flush(): Promise<void> {
    if (this.#sending === null) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, this.#flushMs);
    await Promise.race([this.#sending, late.promise]);
    clearTimeout(timer);
  }

  /** Has the next lines written by a new writer, and lets go of this one behind those under way. */
  reopen(): void {
    this.#isStale = true;
  }

  async #sendAll(first: Promise<void>): Promise<void> {
    await first;
    for (let lines = this.#waiting.shift(); lines; lines = this.#waiting.shift()) {
      this.#waitingBytes -= lines.length;
      await this.#hand(lines);
    }
    this.#sending = null;
  }

  /** @returns null when they are written; otherwise a promise, which never rejects */
  #hand(lines: Uint8Array): Promise<void> | null {
    const told = this.#untold;
    // How much of them was written nobody tells: all of them count as left out.
    const failed = () => {
      this.#close();
      this.#isCut = true;
      this.#leaveOut(lines);
    };
    const taken = () => {
      this.#isCut = false;
      this.#untold -= told;
    };
    try {
      if (this.#isStale) this.#close();
      this.#isStale = false;
      this.#writer ??= this.#open();
      const writer = this.#writer;
      const results = [writer.write(this.#withNotice(lines)), writer.flush()];
      if (results.some((result) => result instanceof Promise)) {
        return Promise.all(results).then(taken, failed);
      }
      taken();
    } catch {
      failed();
    }
    return null;
  }

  /** Otherwise its descriptor would stay open until the collector comes to it. */
  #close(): void {
    const writer = this.#writer;
    this.#writer = null;
    Promise.try(() => writer?.end()).catch(() => {});
  }

  #withNotice(lines: Uint8Array): Uint8Array {
    if (this.#untold === 0) return lines;
    const notice = {
      time: new Date(this.#now()).toISOString(),
      level: "warn",
      event: "log_lines_left_out",
      lines: this.#untold,
    };
    return Buffer.concat([Buffer.from(`${this.#isCut ? "\n" : ""}${JSON.stringify(notice)}\n`), lines]);
  }

  #leaveOut(lines: Uint8Array): void {
    let count = 0;
    for (let at = lines.indexOf(newline); at !== -1; at = lines.indexOf(newline, at + 1)) count++;
    this.#untold += count;
    this.linesLeftOut += count;
  }
}

const newline = 10;
