import { DomainError } from "../../domain/errors.ts";

/** The owner of a stream: an application, or with a user token one of its users. */
export interface StreamOwner {
  readonly applicationId: string;
  /** null for the application's own stream. */
  readonly userId: number | null;
}

/** Open streams of all applications. */
const maxOpen = 10_000;
export const tryAgainLater = { retryAfterSeconds: 5 };

/** The part of the users' streams of an application that one user may have. */
const partOfOneUser = 0.05;

/** A bounded number of streams. */
interface Share {
  readonly key: string;
  readonly limit: number;
  readonly of: string;
}

/**
 * Limits the open event streams of the process. An application has `limit` streams for itself, and its users have as
 * many together, so that no user takes those of the application or of all other users.
 */
export class StreamPlaces {
  readonly #open = new Map<string, number>();
  #count = 0;

  constructor(readonly limit: () => number) {}

  /**
   * Takes a place. Throws `rate_limited` when the owner has too many streams open, `unavailable` when there are too
   * many in all.
   */
  take(owner: StreamOwner): void {
    const shares = this.#sharesOf(owner);
    const full = shares.find(({ key, limit }) => this.#openOf(key) >= limit);
    if (full) {
      const message = `${full.of} has ${full.limit} event streams open, and ${full.limit} is the limit; close one first`;
      throw new DomainError("rate_limited", message, tryAgainLater);
    }
    if (this.#count >= maxOpen) {
      throw new DomainError("unavailable", "Too many event streams are open", tryAgainLater);
    }
    for (const { key } of shares) this.#open.set(key, this.#openOf(key) + 1);
    this.#count++;
  }

  leave(owner: StreamOwner): void {
    for (const { key } of this.#sharesOf(owner)) {
      const open = this.#openOf(key);
      if (open > 1) this.#open.set(key, open - 1);
      else this.#open.delete(key);
    }
    this.#count--;
  }

  #openOf(key: string): number {
    return this.#open.get(key) ?? 0;
  }

  #sharesOf({ applicationId, userId }: StreamOwner): Share[] {
    const limit = this.limit();
    if (userId === null) return [{ key: applicationId, limit, of: "This application" }];
    const ofOne = Math.ceil(limit * partOfOneUser);
    return [
      { key: `${applicationId} ${userId}`, limit: ofOne, of: "This user" },
      { key: `${applicationId} users`, limit, of: "The group of all users of this application" },
    ];
  }
}
