import { DomainError } from "../../domain/errors.ts";

/** The owner of a stream: an application, or with a user token one of its users. */
export interface StreamOwner {
  readonly applicationId: string;
  /** null for the application's own stream. */
  readonly userId: number | null;
}

/** The maximum number of open streams of all applications. */
const maxOpen = 10_000;
export const tryAgainLater = { retryAfterSeconds: 5 };

/** The part of an application's user streams that a single user may have open. */
const partOfOneUser = 0.05;

/** A limit to which an owner's stream counts. */
interface Share {
  readonly key: string;
  readonly limit: number;
  readonly of: string;
}

/**
 * Limits the open event streams of the process. An application has `limit` streams for itself, and its users have as
 * many together, so that no user takes those of the application or of all other users.
 */
export class StreamSlots {
  readonly #open = new Map<string, number>();
  #count = 0;

  constructor(readonly limit: () => number) {}

  /**
   * Takes a slot. Throws `rate_limited` if the owner has too many streams open, `unavailable` if there are too
   * many in total.
   */
  take(owner: StreamOwner): void {
    const shares = this.#sharesOf(owner);
    const full = shares.find(({ key, limit }) => this.#openOf(key) >= limit);
    if (full) {
      const message = `${full.of} has ${full.limit} event streams open, which is the maximum; close one first`;
      throw new DomainError("rate_limited", message, tryAgainLater);
    }
    if (this.#count >= maxOpen) {
      throw new DomainError("unavailable", "Too many event streams are open", tryAgainLater);
    }
    for (const { key } of shares) this.#open.set(key, this.#openOf(key) + 1);
    this.#count++;
  }

  release(owner: StreamOwner): void {
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
