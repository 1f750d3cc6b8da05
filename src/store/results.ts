import type { LoginAnswer, LoginRequest } from "../domain/authorizations.ts";
import type { DueDelivery, PublishedEvent, StreamedDelivery } from "../domain/deliveries.ts";
import type { AskedGrant } from "../domain/tokens.ts";
import type { UserSummary } from "../domain/users.ts";

/** The data directory cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
}

/**
 * Why a database that is served cannot be used: its disk has no room, or fails; what was read is damaged; or its file
 * is no longer there.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced";

/** For each item of a batch, in order: null where it was kept, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refusal undoes all, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
}

/** Nothing of an atomic batch was kept; null stands for what could have been. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was kept");
  }
}

/** What publishing an event has made. */
export interface StoredEvent extends PublishedEvent {
  readonly taken: readonly DueDelivery[];
  readonly streamed: readonly string[];
}

/** What a search has found, in order. */
export interface SearchResult {
  readonly users: readonly UserSummary[];
  /** False where the search was cut off: others may match, also some that would come before these. */
  readonly isComplete: boolean;
}

/** Subscriptions of an application that were removed. */
export interface RemovedSubscriptions {
  readonly application_id: string;
  readonly ids: readonly string[];
}

/** What went with a user. */
export interface RemovedUser {
  readonly channelIds: readonly number[];
  readonly subscriptions: readonly RemovedSubscriptions[];
}

/** A part of what is on the event stream of an application. */
export interface StreamedDeliveries {
  readonly deliveries: readonly StreamedDelivery[];
  /** So many more have a body that is no longer kept. */
  readonly lost: number;
  /** The number up to which these are all. */
  readonly upTo: number;
  /** Whether there was nothing behind it. */
  readonly isAll: boolean;
}

/** A subscription that was asked for: its id, or why there is none. */
export type SubscribeResult = { readonly id: string } | { readonly error: string };

/** The subscriptions of an application: as JSON, because ten thousand of them take twice as long as objects. */
export interface SubscriptionList {
  /** In order: of each slice, `Subscription`s with commas between them. */
  readonly slices: readonly Uint8Array[];
  /** How many the application has, whoever their broadcasters are. */
  readonly used: number;
}

/** The tokens that a client gets when it exchanges a code or a refresh token: their hashes. */
export interface NewTokens {
  readonly accessHash: Uint8Array;
  readonly refreshHash: Uint8Array;
}

/**
 * What came of such an exchange. `refused`: the code or token is `invalid`, or it was used before (`reused`) and now
 * everything that came of it is revoked, or it never had these scopes (`exceeded`).
 */
export type Exchanged =
  | { readonly grant: AskedGrant }
  | { readonly refused: "invalid" | "reused" | "exceeded" };

/** A token that still lives. */
export interface TokenRecord extends AskedGrant {
  readonly kind: "access_token" | "refresh_token";
}

/** A login request that was answered, as its browser comes back. */
export interface AnsweredLogin extends LoginRequest {
  readonly answer: LoginAnswer;
}
