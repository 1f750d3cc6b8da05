import { closeSync, openSync, write } from "node:fs";

/** A destination of lines. Its methods return a promise, which may reject, if they do not complete at once. */
export interface LineWriter {
  write(lines: Uint8Array): unknown;
  flush(): unknown;
  /** Closes the descriptor; may fail after a failed write. */
  end(): unknown;
}

interface LogOutputOptions {
  /** Opens the destination; called again after a failed write. */
  readonly open?: () => LineWriter;
  readonly now?: () => number;
  /** The size of the buffer for a slow reader. */
  readonly mostBytes?: number;
  /** The time limit of `flush`. */
  readonly flushMs?: number;
  /** The number of this replica, which each line has; null for none. */
  readonly replica?: number | null;
  /** Formats complete lines; by default they are written as they are. */
  readonly render?: (lines: Uint8Array) => Uint8Array;
}

/**
 * Writes log lines to standard error or a file without ever blocking the server. With a slow or stuck reader or a full
 * disk, lines are buffered, up to `mostBytes`. Lines above that, and those that cannot be written, are dropped, and a
 * later line states their number.
 */
export class LogOutput {
  /** The number of dropped lines since the start. */
  linesLeftOut = 0;
  #unreported = 0;
  /** Whether to open a new writer for the next lines. */
  #isStale = false;
  /** Whether a failed write may have ended within a line. */
  #isCut = false;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #writer: LineWriter | null = null;
  /** Resolves when no lines wait; null when none do. */
  #sending: Promise<void> | null = null;
  readonly #open: () => LineWriter;
  readonly #now: () => number;
  readonly #mostBytes: number;
  readonly #flushMs: number;
  readonly #replica: number | null;
  readonly #render: (lines: Uint8Array) => Uint8Array;

  constructor({
    open = () => Bun.stderr.writer(),
    now = Date.now,
    mostBytes = 16 * 2 ** 20,
    flushMs = 1_000,
    replica = null,
    render = (lines) => lines,
  }: LogOutputOptions = {}) {
    this.#open = open;
    this.#now = now;
    this.#mostBytes = mostBytes;
    this.#flushMs = flushMs;
    this.#replica = replica;
    this.#render = render;
  }

  /** Writes complete lines. The caller may reuse the buffer after the call. */
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

  /** Waits until all lines are written, up to a time limit: a stuck reader must not keep the server from stopping. */
  async flush(): Promise<void> {
    if (this.#sending === null) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, this.#flushMs);
    await Promise.race([this.#sending, late.promise]);
    clearTimeout(timer);
  }

  /** Opens a new writer for the next lines, and closes this one after its pending writes. */
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

  /** Returns null if the lines were written at once; else a promise, which never rejects. */
  #hand(lines: Uint8Array): Promise<void> | null {
    const reported = this.#unreported;
    // How much of a failed write was written is unknown, so all of its lines count as dropped.
    const failed = () => {
      this.#close();
      this.#isCut = true;
      this.#leaveOut(lines);
    };
    const taken = () => {
      this.#isCut = false;
      this.#unreported -= reported;
    };
    try {
      if (this.#isStale) this.#close();
      this.#isStale = false;
      this.#writer ??= this.#open();
      const writer = this.#writer;
      const results = [writer.write(this.#withNotice(this.#render(lines))), writer.flush()];
      if (results.some((result) => result instanceof Promise)) {
        return Promise.all(results).then(taken, failed);
      }
      taken();
    } catch {
      failed();
    }
    return null;
  }

  /** Closes the writer. Otherwise its descriptor would stay open until garbage collection. */
  #close(): void {
    const writer = this.#writer;
    this.#writer = null;
    Promise.try(() => writer?.end()).catch(() => {});
  }

  #withNotice(lines: Uint8Array): Uint8Array {
    if (this.#unreported === 0) return lines;
    const notice = {
      time: new Date(this.#now()).toISOString(),
      level: "warn",
      event: "log_lines_left_out",
      ...(this.#replica !== null && { replica: this.#replica }),
      lines: this.#unreported,
    };
    const rendered = this.#render(Buffer.from(`${JSON.stringify(notice)}\n`));
    return Buffer.concat([Buffer.from(this.#isCut ? "\n" : ""), rendered, lines]);
  }

  #leaveOut(lines: Uint8Array): void {
    let count = 0;
    for (let at = lines.indexOf(newline); at !== -1; at = lines.indexOf(newline, at + 1)) count++;
    this.#unreported += count;
    this.linesLeftOut += count;
  }
}

const newline = 10;

/** Writes the bytes from `at` on, or some of them. Resolves to the number of bytes written. */
const writeSome = (file: number, bytes: Uint8Array, at: number) =>
  new Promise<number>((resolve, reject) =>
    write(file, bytes, at, (error, written) => (error ? reject(error) : resolve(written))),
  );

/**
 * Returns a function that opens a file for appending; a new file is readable by its owner and group. Throws if the file
 * cannot be opened.
 */
export function fileLines(path: string): () => LineWriter {
  const open = () => {
    const file = openSync(path, "a", 0o640);
    return {
      async write(lines: Uint8Array) {
        const kept = new Uint8Array(lines);
        for (let at = 0; at < kept.length; ) at += await writeSome(file, kept, at);
      },
      flush() {},
      end: () => closeSync(file),
    };
  };
  try {
    open().end();
  } catch (error) {
    const { code } = error as { code?: string };
    throw new Error(`The log file ${path} cannot be opened (${code}). Name another one with --log-file.`);
  }
  return open;
}
