import { DomainError } from "../../domain/errors.ts";

/** Whose events a stream has: those of an application, or with the token of a user those for that user. */
export interface StreamOwner {
  readonly applicationId: string;
  /** null: the application's own. */
  readonly userId: number | null;
}

/** Open at the same time, of all applications. */
const mostOpen = 10_000;
export const tryAgainLater = { retryAfterSeconds: 5 };

/** Of the streams that the users of an application may have together, one user may have such a part. */
const partOfOneUser = 0.05;

/** A number of streams that must not become too great. */
interface Share {
  readonly key: string;
  readonly limit: number;
  readonly of: string;
}

/**
 * Places for the event streams of the process. An application has as many as `limit` says for itself, and its users have
 * as many together, so that no user can take the application's, nor those of all other users.
 */
export class StreamPlaces {
  readonly #open = new Map<string, number>();
  #count = 0;

  constructor(readonly limit: number) {}

  /** Throws `rate_limited` where the owner has too many open, `unavailable` where there are too many in all. */
  take(owner: StreamOwner): void {
    const shares = this.#sharesOf(owner);
    const full = shares.find(({ key, limit }) => this.#openOf(key) >= limit);
    if (full) {
      const message = `${full.of} has ${full.limit} event streams open, and ${full.limit} is the limit; close one first`;
      throw new DomainError("rate_limited", message, tryAgainLater);
    }
    if (this.#count >= mostOpen) {
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
    const { limit } = this;
    if (userId === null) return [{ key: applicationId, limit, of: "This application" }];
    const ofOne = Math.ceil(limit * partOfOneUser);
    return [
      { key: `${applicationId} ${userId}`, limit: ofOne, of: "This user" },
      { key: `${applicationId} users`, limit, of: "The group of all users of this application" },
    ];
  }
}
