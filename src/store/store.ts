import type { Application, ApplicationChanges, NewApplication } from "../domain/applications.ts";
import type { Category, NewCategory } from "../domain/categories.ts";
import type {
  AttemptResult,
  DueDelivery,
  NewEvent,
  PublishedEvent,
  Retention,
} from "../domain/deliveries.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { Channel, Livestream, NewLivestream } from "../domain/livestreams.ts";
import type { Subscription, SubscriptionKey } from "../domain/subscriptions.ts";
import type { Grant } from "../domain/tokens.ts";
import type { NewUser, User, UserSummary } from "../domain/users.ts";

/** For each item of a batch, in order: null where it was kept, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

/** A subscription that was asked for: its id, or why there is none. */
export type SubscribeResult = { readonly id: string } | { readonly error: string };

/**
 * Where everything is kept. Each method is one atomic action: when its promise resolves, its effect is on disk
 * (synced) and every later read sees it. A full or failing disk rejects with the `unavailable` error, and then
 * nothing of that action has happened.
 */
export interface Store {
  readonly users: {
    /** `now` is the `created_at` of a new user that comes without one. */
    upsert(users: readonly NewUser[], now: string): Promise<BatchResult>;
    find(username: string): Promise<User | null>;
    /** In the contract's order: exact username, username that starts with it, the rest; more followers, lower id. */
    search(query: string, limit: number): Promise<UserSummary[]>;
    /** Makes later searches faster by a small step; false when nothing is left to do, or users changed meanwhile. */
    tidySearch(): Promise<boolean>;
    exists(id: number): Promise<boolean>;
    count(): Promise<number>;
  };
  readonly categories: {
    upsert(categories: readonly NewCategory[]): Promise<BatchResult>;
    all(): Promise<Category[]>;
    byIds(ids: readonly number[]): Promise<Category[]>;
  };
  readonly channels: {
    upsert(channels: readonly Channel[]): Promise<BatchResult>;
    /** Their picture falls back on their user's. */
    byIds(ids: readonly number[]): Promise<Channel[]>;
  };
  readonly livestreams: {
    /** `now` is the `started_at` of a new one that comes without. */
    upsert(livestreams: readonly NewLivestream[], now: string): Promise<BatchResult>;
    /** Ends these, whether they are live or not. */
    end(channelIds: readonly number[]): Promise<void>;
    all(): Promise<Livestream[]>;
  };
  readonly applications: {
    create(application: NewApplication): Promise<void>;
    /** Changes these fields; an application that does not exist is not an error. `now` is its `updated_at`. */
    update(id: string, changes: ApplicationChanges, now: string): Promise<void>;
    find(id: string): Promise<Application | null>;
    clientSecretHash(id: string): Promise<Uint8Array | null>;
    all(): Promise<Application[]>;
  };
  readonly tokens: {
    create(hash: Uint8Array, grant: Grant): Promise<void>;
    find(hash: Uint8Array): Promise<Grant | null>;
    /** Returns how many were removed. */
    removeExpired(now: number): Promise<number>;
  };
  readonly subscriptions: {
    /** Gives what exists or creates it, one result per key; `limit` is the most that the application may have. */
    subscribe(keys: readonly SubscriptionKey[], limit: number, now: number): Promise<SubscribeResult[]>;
    ofApplication(applicationId: string): Promise<Subscription[]>;
    count(applicationId: string): Promise<number>;
    /** Which of these exist. */
    existing(ids: readonly string[]): Promise<Set<string>>;
    /** Unknown ids and those of other applications change nothing. Deliveries that can be claimed are canceled. */
    remove(applicationId: string, ids: readonly string[], now: number): Promise<void>;
  };
  readonly events: {
    /**
     * Keeps the event together with one delivery per subscription. The same id again answers as before and keeps
     * nothing; rejects with `conflict` where that id was another event's, with `invalid_parameter` where the
     * broadcaster does not exist. `takes` is asked for each delivery, inside the transaction, whether the dispatcher
     * takes it at once; these are `taken`, in order, and the others are left for `claim`.
     */
    publish(
      event: NewEvent,
      takes: (applicationId: string) => boolean,
    ): Promise<PublishedEvent & { readonly taken: readonly DueDelivery[] }>;
  };
  readonly deliveries: {
    /** To be called before a dispatcher begins: what an earlier one had taken can be claimed again. */
    takeUp(): Promise<void>;
    /** Applications with deliveries to claim and when the earliest of each is due. */
    pending(): Promise<{ application_id: string; due_at: number }[]>;
    /**
     * Deliveries of an application that are due, first attempts in the order of publishing before retries, each
     * handed out once until it is recorded, given back, or the process restarts. `isBehind`: more first attempts are
     * waiting. `retryAt`: when the first retry that was not handed out is due.
     */
    claim(
      applicationId: string,
      now: number,
      limit: number,
    ): Promise<{ due: DueDelivery[]; isBehind: boolean; retryAt: number | null }>;
    /** Makes retries of an application due at `now`, those first that are due soonest; some thousands at most. */
    hurry(applicationId: string, now: number): Promise<void>;
    /** These claimed deliveries can be claimed again. */
    giveBack(seqs: readonly number[]): Promise<void>;
    /** A delivery that was canceled meanwhile stays canceled; its attempt is kept. Endpoints are kept with it. */
    record(results: readonly AttemptResult[], endpoints: readonly Endpoint[]): Promise<void>;
  };
  readonly endpoints: {
    /** null for one to which nothing was sent yet. */
    find(applicationId: string): Promise<Endpoint | null>;
    /** Those that are failing or disabled. */
    failing(): Promise<Endpoint[]>;
    put(endpoint: Endpoint): Promise<void>;
  };
  readonly retention: {
    /** Removes some of what is older than `retention` says; true when nothing was left to remove. */
    prune(retention: Retention, now: number): Promise<boolean>;
  };
  readonly settings: {
    get(key: string): Promise<string | null>;
    put(key: string, value: string): Promise<void>;
  };
  close(): Promise<void>;
}
