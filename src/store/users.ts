import type { NewUser, User, UserSummary } from "../domain/users.ts";
import type { BatchMode, BatchResult } from "./batch.ts";
import type { RemovedSubscriptions } from "./subscriptions.ts";

/** The platform's users, and the search for them. */
export interface UserStore {
  /** @param now the `created_at` of a new user that has none */
  upsert(users: readonly NewUser[], now: string, mode?: BatchMode): Promise<BatchResult>;
  /** Finds a user by username, ignoring ASCII case. */
  find(username: string): Promise<User | null>;
  /** The next users by ascending id, starting after `after`. */
  page(after: number, limit: number): Promise<User[]>;
  /**
   * Removes a user with channels, livestreams, tokens and the subscriptions to the user, and cancels the pending
   * deliveries of these subscriptions. Ignores an unknown id.
   */
  remove(id: number, now: number): Promise<RemovedUser>;
  /**
   * Finds users whose names contain the query. Order: exact username, usernames that start with it, all others; within
   * these, more followers first, then lower id. The work of one search is bounded.
   */
  search(query: string, limit: number): Promise<SearchResult>;
  /**
   * A small step of maintenance that makes searches faster; false when nothing is left to do, or users have just
   * changed.
   */
  tidySearch(): Promise<boolean>;
  exists(id: number): Promise<boolean>;
  count(): Promise<number>;
}

/** The users found by a search, in order. */
export interface SearchResult {
  readonly users: readonly UserSummary[];
  /** False when the search reached its limit of work: further users may match, and some of them may rank higher. */
  readonly isComplete: boolean;
}

/** What was removed together with a user. */
export interface RemovedUser {
  readonly channelIds: readonly number[];
  readonly subscriptions: readonly RemovedSubscriptions[];
}
