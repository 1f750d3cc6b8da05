import { DomainError } from "../../domain/errors.ts";

/** Open at the same time, of all applications. */
const mostOpen = 10_000;
export const tryAgainLater = { retryAfterSeconds: 5 };

/** Places for the event streams of the process. */
export class StreamPlaces {
  readonly #open = new Map<string, number>();
  #count = 0;

  /** @param limit for each application */
  constructor(readonly limit: number) {}

  /** Throws `rate_limited` where the application has too many open, `unavailable` where there are too many in all. */
  take(applicationId: string): void {
    const open = this.#open.get(applicationId) ?? 0;
    if (open >= this.limit) {
      const message = `This application has ${open} event streams open, and ${this.limit} is its limit; close one first`;
      throw new DomainError("rate_limited", message, tryAgainLater);
    }
    if (this.#count >= mostOpen) {
      throw new DomainError("unavailable", "Too many event streams are open", tryAgainLater);
    }
    this.#open.set(applicationId, open + 1);
    this.#count++;
  }

  leave(applicationId: string): void {
    const open = this.#open.get(applicationId) ?? 0;
    if (open > 1) this.#open.set(applicationId, open - 1);
    else this.#open.delete(applicationId);
    this.#count--;
  }
}
