import type { DomainError } from "../../domain/errors.ts";
import { second } from "../../domain/time.ts";
import { inTime } from "../../runtime/event-loop.ts";
import { silentDirectory } from "./open-destination.ts";

/** How long a start, a check and a stop wait for a directory, such as a mounted one whose server is away. */
export const destinationMs = 5 * second;

/** How long a call may take before the directory does not respond. A disk that sleeps takes seconds. */
export const silentMs = 30 * second;

/**
 * The calls of a server on its directories of backups, one at a time. A call on a directory that hangs holds a thread
 * for files until the directory responds, and the process has few of them: compression, cryptography and all other
 * files need them.
 */
export class DirectoryCalls {
  /** The error when the directory does not respond. */
  readonly silent: DomainError;
  #current: { readonly at: number; readonly over: Promise<true> } | null = null;

  readonly #monotonic: () => number;

  /**
   * @param directory named in errors
   * @param monotonic a clock that is never set, in milliseconds
   */
  constructor(directory: string, monotonic: () => number) {
    this.#monotonic = monotonic;
    this.silent = silentDirectory(directory);
  }

  /** Makes a call when the one in progress is over. Rejects with `silent` if that one takes `silentMs`. */
  async make<Value>(work: () => Promise<Value>): Promise<Value> {
    while (this.#current) {
      this.requireResponse();
      await inTime(this.#current.over, silentMs - this.#elapsedMs);
    }
    const call = work();
    const end = (): true => {
      this.#current = null;
      return true;
    };
    this.#current = { at: this.#monotonic(), over: call.then(end, end) };
    return call;
  }

  /** Throws `silent` while a call has been in progress for `silentMs`. */
  requireResponse(): void {
    if (this.#elapsedMs >= silentMs) throw this.silent;
  }

  /** Resolves when no call is in progress, however long that takes. */
  async idle(): Promise<void> {
    while (this.#current) await this.#current.over;
  }

  /** For how long the call in progress has been; 0 for none. */
  get #elapsedMs(): number {
    return this.#current ? this.#monotonic() - this.#current.at : 0;
  }
}
