import type { NewUser, User, UserSummary } from "../domain/users.ts";
import type { BatchMode, BatchResult } from "./batch.ts";
import type { RemovedSubscriptions } from "./subscriptions.ts";

/** The users of the platform, and the search over them. */
export interface UserStore {
  /** `now` is the `created_at` of a new user that comes without one. */
  upsert(users: readonly NewUser[], now: string, mode?: BatchMode): Promise<BatchResult>;
  /** By username, without regard to ASCII case; null where there is no such user. */
  find(username: string): Promise<User | null>;
  /** By ascending id, those behind `after`. */
  page(after: number, limit: number): Promise<User[]>;
  /**
   * With channels, livestreams, tokens and the subscriptions to the user, whose pending deliveries are canceled.
   * Unknown ids change nothing.
   */
  remove(id: number, now: number): Promise<RemovedUser>;
  /**
   * In this order: exact username, username that starts with it, the rest; more followers, lower id. The work of one
   * search is bounded.
   */
  search(query: string, limit: number): Promise<SearchResult>;
  /** Makes later searches faster by a small step; false when nothing is left to do, or users changed meanwhile. */
  tidySearch(): Promise<boolean>;
  exists(id: number): Promise<boolean>;
  count(): Promise<number>;
}

/** What a search has found, in order. */
export interface SearchResult {
  readonly users: readonly UserSummary[];
  /** False where the search was cut off: others may match, also some that would come before these. */
  readonly isComplete: boolean;
}

/** What went with a user. */
export interface RemovedUser {
  readonly channelIds: readonly number[];
  readonly subscriptions: readonly RemovedSubscriptions[];
}
