import { type Static, Type } from "@sinclair/typebox";
import type { BatchMode, BatchResult } from "./errors.ts";
import type { RemovedSubscriptions } from "./subscriptions.ts";
import {
  about,
  Count,
  Id,
  multiLine,
  nullable,
  oneLine,
  Timestamp,
  webAddress,
} from "./validation/fields.ts";

/** Usernames are compared without ASCII case. */
export const usernameForm = {
  pattern: "^[A-Za-z0-9_-]{1,64}$",
  errorMessage: "must be 1 to 64 of the characters A-Z a-z 0-9 _ -",
};

/** Names that collide with another route of the public API. */
const reservedUsernames = new Set(["search"]);

/** A user as the platform reports it; missing fields get defaults, `created_at` keeps its first value. */
export const UserInput = Type.Object({
  id: about(Id, "Id of the user."),
  username: Type.String({
    ...usernameForm,
    description: "Unique without regard to ASCII case. `search` is reserved.",
  }),
  display_name: Type.Optional(about(oneLine(1, 200), "Display name; the username by default.")),
  bio: Type.Optional(
    nullable(multiLine(10_000), {
      description: "Biography of the user; null or empty for none.",
    }),
  ),
  profile_picture: Type.Optional(
    nullable(webAddress(), { description: "URL of a picture; null or empty for none." }),
  ),
  followers_count: Type.Optional(about(Count, "Number of followers.")),
  following_count: Type.Optional(about(Count, "Number of users that the user follows.")),
  is_verified: Type.Optional(Type.Boolean({ description: "Whether the platform has verified the user." })),
  created_at: Type.Optional(about(Timestamp, "When the account was created; now by default.")),
});
export type UserInput = Static<typeof UserInput>;

/** A stored user. */
export interface User {
  readonly id: number;
  /** In the platform's spelling. */
  readonly username: string;
  readonly display_name: string;
  readonly bio: string;
  /** null without a picture: the server then shows its default. */
  readonly profile_picture: string | null;
  readonly followers_count: number;
  readonly following_count: number;
  readonly is_verified: boolean;
  /** ISO 8601 UTC, as the platform reported it. */
  readonly created_at: string;
}

/** `created_at` null: the time of the first report, unless an earlier report set it. */
export type NewUser = Omit<User, "created_at"> & { readonly created_at: string | null };

export type UserSummary = Pick<User, "id" | "username" | "display_name" | "profile_picture" | "is_verified">;

/** The reason why a username is refused, or null. */
export function refusedUsername(username: string): string | null {
  if (!reservedUsernames.has(username.toLowerCase())) return null;
  return `username "${username.toLowerCase()}" is reserved, because it is a path of the public API`;
}

/** A user with all its fields. */
export function userFrom(input: UserInput): NewUser {
  return {
    id: input.id,
    username: input.username,
    display_name: (input.display_name ?? input.username).toWellFormed(),
    bio: (input.bio ?? "").toWellFormed(),
    profile_picture: input.profile_picture || null,
    followers_count: input.followers_count ?? 0,
    following_count: input.following_count ?? 0,
    is_verified: input.is_verified ?? false,
    created_at: input.created_at ?? null,
  };
}

/** The most ids of one look-up in the public API. */
export const maxUserIds = 50;

export const searchLimits = { minQuery: 3, maxQuery: 100, maxResults: 100, defaultResults: 25 } as const;

/** The platform's users, and the search for them. */
export interface UserStore {
  /** @param now the `created_at` of a new user that has none */
  upsert(users: readonly NewUser[], now: string, mode?: BatchMode): Promise<BatchResult>;
  /** Finds a user by username, ignoring ASCII case. */
  find(username: string): Promise<User | null>;
  /** The users with these ids, each once, in any order. */
  byIds(ids: readonly number[]): Promise<User[]>;
  /** The next users by ascending id, starting after `after`. */
  page(after: number, limit: number): Promise<User[]>;
  /**
   * Removes a user with channels, livestreams, tokens and the subscriptions to the user, and cancels the pending
   * deliveries of these subscriptions. Removes the names and values from the entries of the audit log about the user.
   * Ignores an unknown id.
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
