import type { Application, ApplicationChanges, NewApplication, Rotation } from "../domain/applications.ts";
import type { CodePresentation, Consent, LoginAnswer, LoginRequest } from "../domain/authorizations.ts";
import type { Category, NewCategory } from "../domain/categories.ts";
import type {
  AttemptResult,
  DueDelivery,
  NewEvent,
  PublishedEvent,
  Retention,
} from "../domain/deliveries.ts";
import type {
  Backlog,
  DeliveryFilter,
  DeliveryPage,
  DeliveryRecord,
  DeliveryScope,
  SentDelivery,
} from "../domain/delivery-log.ts";
import type { Endpoint } from "../domain/endpoints.ts";
import type { NewEventType, RegisteredEventType } from "../domain/events/registered.ts";
import type { KnownAnswer, KnownRequest } from "../domain/idempotency.ts";
import type { Channel, Livestream, NewLivestream } from "../domain/livestreams.ts";
import type { OperatorKey } from "../domain/operator-keys.ts";
import type { NewReplay, Replay } from "../domain/replays.ts";
import type { Subscription, SubscriptionKey } from "../domain/subscriptions.ts";
import type { AskedGrant, Grant, ScopeName } from "../domain/tokens.ts";
import type { NewUser, User } from "../domain/users.ts";
import type {
  AnsweredLogin,
  BatchMode,
  BatchResult,
  Exchanged,
  NewTokens,
  RemovedUser,
  SearchResult,
  StoredEvent,
  StreamedDeliveries,
  SubscribeResult,
  SubscriptionList,
  TokenRecord,
} from "./results.ts";

/**
 * Where everything is kept. Each method is one atomic action: when its promise resolves, its effect is on disk
 * (synced) and every later read sees it. A full or failing disk rejects with the `unavailable` error, and what would
 * belong to an application or a user that does not exist (any more) with `ownerGone`; then nothing of that action has
 * happened.
 */
export interface Store {
  readonly users: {
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
  };
  readonly categories: {
    upsert(categories: readonly NewCategory[], mode?: BatchMode): Promise<BatchResult>;
    /** By ascending id, those behind `after`. */
    page(after: number, limit: number): Promise<Category[]>;
    /** Its livestreams end: gives their channels. Unknown ids change nothing. */
    remove(id: number): Promise<readonly number[]>;
    all(): Promise<Category[]>;
    byIds(ids: readonly number[]): Promise<Category[]>;
  };
  readonly channels: {
    upsert(channels: readonly Channel[], mode?: BatchMode): Promise<BatchResult>;
    /** By ascending id, those behind `after`, as the platform reported them. */
    page(after: number, limit: number): Promise<Channel[]>;
    /** Its livestream ends. Unknown ids change nothing. */
    remove(id: number): Promise<void>;
    /** Their picture falls back on their user's. */
    byIds(ids: readonly number[]): Promise<Channel[]>;
  };
  readonly livestreams: {
    /** `now` is the `started_at` of a new one that comes without. With `only`, every other livestream ends. */
    upsert(
      livestreams: readonly NewLivestream[],
      now: string,
      mode?: BatchMode & { readonly only?: boolean },
    ): Promise<BatchResult>;
    /** By ascending channel, those behind `after`. */
    page(after: number, limit: number): Promise<Livestream[]>;
    /** Ends these, whether they are live or not. */
    end(channelIds: readonly number[]): Promise<void>;
    all(): Promise<Livestream[]>;
  };
  readonly applications: {
    create(application: NewApplication): Promise<void>;
    /**
     * Changes these fields and gives the application; without a URL, or disabled, its pending deliveries are canceled.
     * With another URL its endpoint is of a new generation, as by `endpoints.enable`.
     */
    update(id: string, changes: ApplicationChanges, now: number): Promise<Application | null>;
    /** With its tokens and subscriptions; its pending deliveries are canceled. Whether there was one. */
    remove(id: string, now: number): Promise<boolean>;
    /** Replaces the client secret; see `retire`, which may throw. */
    rotateClientSecret(id: string, hash: Uint8Array, rotation: Rotation): Promise<Application | null>;
    /** Replaces the webhook secret; see `retire`, which may throw. */
    rotateWebhookSecret(id: string, secret: string, rotation: Rotation): Promise<Application | null>;
    find(id: string): Promise<Application | null>;
    /** Of all client secrets that are good at a time; none for one that does not exist, is disabled or public. */
    clientSecretHashes(id: string, now: number): Promise<Uint8Array[]>;
    all(): Promise<Application[]>;
    /** By ascending id, those behind `after`; "" begins. */
    page(after: string, limit: number): Promise<Application[]>;
  };
  readonly tokens: {
    /**
     * Keeps a new access token. Of those of an application itself only the newest are good: gives whether this one
     * ended others.
     */
    create(hash: Uint8Array, grant: AskedGrant): Promise<boolean>;
    find(hash: Uint8Array): Promise<Grant | null>;
    /** An access or refresh token that still works, also within the grace of a refresh token. */
    inspect(hash: Uint8Array, now: number): Promise<TokenRecord | null>;
    /** Exchanges an authorization code for the first tokens of its family. */
    redeemCode(hash: Uint8Array, given: CodePresentation, tokens: NewTokens, now: number): Promise<Exchanged>;
    /**
     * Exchanges a refresh token for new ones. `scopes` are those of the access token, at most those of the refresh
     * token; null: all of them.
     */
    refresh(
      hash: Uint8Array,
      given: { readonly applicationId: string; readonly scopes: readonly ScopeName[] | null },
      tokens: NewTokens,
      now: number,
    ): Promise<Exchanged>;
    /** Revokes an access token, or a refresh token together with its family. `foreign`: another application's. */
    revoke(hash: Uint8Array, applicationId: string): Promise<"revoked" | "unknown" | "foreign">;
    /** The access tokens that are good at a time; the first to expire come first. */
    ofApplication(applicationId: string, now: number, limit: number): Promise<Grant[]>;
    /** Access and refresh tokens and codes; returns how many access tokens were removed. */
    removeOfApplication(applicationId: string): Promise<number>;
    /** Removes some of the tokens, codes and login requests that have expired; true when none was left. */
    removeExpired(now: number): Promise<boolean>;
  };
  readonly loginRequests: {
    /**
     * The browser is known again by the secret of its cookie, of which this is the hash. Beyond `loginLimits` the oldest
     * requests of the application, or of the `client`, which is the network of the browser, end.
     */
    create(
      challengeHash: Uint8Array,
      browserHash: Uint8Array,
      request: LoginRequest,
      client: string,
    ): Promise<void>;
    /** One that waits for its answer or has it; null: unknown, expired, or its browser has been back. */
    find(challengeHash: Uint8Array, now: number): Promise<LoginRequest | null>;
    /**
     * Keeps the platform's answer. Rejects with `not_found` where `find` finds none, with `conflict` where there is an
     * answer already, with `invalid_parameter` where the user does not exist.
     */
    answer(
      challengeHash: Uint8Array,
      answer: LoginAnswer,
      verifierHash: Uint8Array,
      now: number,
    ): Promise<void>;
    /**
     * Takes an answered request out, once and only for its browser. Where the user consented, `codeHash` becomes an
     * authorization code, and the consent is remembered if it shall be.
     */
    redeem(
      verifierHash: Uint8Array,
      browserHash: Uint8Array,
      codeHash: Uint8Array,
      now: number,
    ): Promise<AnsweredLogin | null>;
  };
  readonly consents: {
    ofUser(userId: number): Promise<Consent[]>;
    /**
     * Ends everything that the application has of the user: consent, codes, tokens, and subscriptions, whose ids it
     * gives.
     */
    revoke(userId: number, applicationId: string, now: number): Promise<string[]>;
  };
  readonly subscriptions: {
    /**
     * Gives what exists or creates it, one result per key; `limit` is the most that the application may have. `token`:
     * the hash of the access token that allows it; where that has ended, this rejects with `invalid_token`.
     */
    subscribe(
      keys: readonly SubscriptionKey[],
      limit: number,
      now: number,
      token?: Uint8Array | null,
    ): Promise<SubscribeResult[]>;
    /** In the order in which they were made. */
    ofApplication(applicationId: string): Promise<Subscription[]>;
    /** The same, or of these the ones with this broadcaster, as they were at one moment, ready to be sent. */
    list(applicationId: string, broadcasterId: number | null): Promise<SubscriptionList>;
    /** With its `sequence`, the number of deliveries made for it so far. */
    find(applicationId: string, id: string): Promise<(Subscription & { readonly sequence: number }) | null>;
    count(applicationId: string): Promise<number>;
    /**
     * Unknown ids and those of other applications change nothing; with a user, neither do those whose broadcaster is
     * somebody else. Deliveries that can be claimed are canceled. Gives the ids of those that were removed.
     */
    remove(
      applicationId: string,
      ids: readonly string[],
      now: number,
      userId?: number | null,
    ): Promise<string[]>;
  };
  readonly events: {
    /**
     * Keeps the event together with one delivery per subscription. The same id again answers as before and keeps
     * nothing; rejects with `conflict` where that id was another event's, with `invalid_parameter` where the
     * broadcaster does not exist. `takes` is asked for each delivery, inside the transaction, whether the dispatcher
     * takes it at once; these are `taken`, in order, and the others are left for `claim`. `streamed`: the applications
     * that have new deliveries on their event stream; where that is all they use, these are final.
     */
    publish(event: NewEvent, takes: (applicationId: string) => boolean): Promise<StoredEvent>;
    /** Keeps all of these events or none: then it rejects with `BatchRefused`. */
    publishAll(
      events: readonly NewEvent[],
      takes: (applicationId: string) => boolean,
    ): Promise<Pick<StoredEvent, "taken" | "streamed"> & { readonly published: readonly PublishedEvent[] }>;
  };
  readonly eventTypes: {
    /**
     * Keeps a type, or changes its description, example and time to live. Rejects with `conflict` where its schema is
     * another one than that of the same version before, or there are too many types.
     */
    put(type: NewEventType, now: number): Promise<RegisteredEventType>;
    all(): Promise<RegisteredEventType[]>;
    /**
     * With its subscriptions; false where there is none. Rejects with `conflict` where an event of it was published.
     */
    remove(name: string, version: number): Promise<boolean>;
  };
  readonly deliveries: {
    /** The highest number given so far, 0 before the first. */
    last(): Promise<number>;
    /** The number of the last delivery of events published before a time. */
    lastBefore(time: number): Promise<number>;
    /** The highest number of a delivery of an application that is no longer kept, 0 where there is none. */
    lastRemoved(applicationId: string): Promise<number>;
    /** What an application is to get on its event stream behind a number, in order; some at a time. */
    streamed(applicationId: string, after: number, userId: number | null): Promise<StreamedDeliveries>;
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
    /** These claimed deliveries can be claimed again. */
    giveBack(seqs: readonly number[]): Promise<void>;
    /**
     * A delivery that was canceled meanwhile stays canceled; its attempt is kept. What is to be tried again and belongs
     * to an earlier generation of its endpoint is due at once. Endpoints are kept with it, unless their generation is
     * over.
     */
    record(results: readonly AttemptResult[], endpoints: readonly Endpoint[]): Promise<void>;
    /** Newest first, those numbered below `below`; null begins. One call looks only at so much of the log. */
    page(filter: DeliveryFilter, below: number | null, limit: number): Promise<DeliveryPage>;
    find(scope: DeliveryScope, id: string): Promise<SentDelivery | null>;
    backlog(applicationId: string, subscriptionId: string): Promise<Backlog>;
    /**
     * Makes a delivery due at `now`, whatever became of it before; it does not expire any more, and its retry schedule
     * goes on as if this attempt were not made. Rejects with `not_found`, and with `conflict` where it cannot be sent.
     */
    retry(scope: DeliveryScope, id: string, now: number): Promise<DeliveryRecord>;
  };
  readonly replays: {
    /** Rejects with `conflict`: see `checkBeside`; also where nothing can be sent to the application now. */
    create(replay: NewReplay): Promise<Replay>;
    find(scope: DeliveryScope, id: string): Promise<Replay | null>;
    /** Newest first. */
    page(scope: DeliveryScope, limit: number): Promise<Replay[]>;
    /** Ends one that is running; what it has queued is sent. Whether there is one of this id. */
    cancel(scope: DeliveryScope, id: string, now: number): Promise<boolean>;
    running(): Promise<Replay[]>;
    /**
     * Takes a small step of a running replay: makes some of its deliveries due, none while many of the application
     * are. What was queued and how far it has come are on disk together. Whether there was a step to take.
     */
    advance(id: string, now: number): Promise<boolean>;
  };
  readonly endpoints: {
    /** null for one to which nothing was sent yet. */
    find(applicationId: string): Promise<Endpoint | null>;
    /** Those that are failing or disabled. */
    failing(): Promise<Endpoint[]>;
    /**
     * Begins a new generation of an endpoint, which is neither failing nor disabled, and makes its retries due at `now`,
     * those first that are due soonest; some thousands at most. Gives the generation; null: the application is gone.
     */
    enable(applicationId: string, now: number): Promise<number | null>;
  };
  readonly retention: {
    /** Removes some of what is older than `retention` says; true when nothing was left to remove. */
    prune(retention: Retention, now: number): Promise<boolean>;
  };
  readonly idempotency: {
    /**
     * Notes a request under its key, or gives what is known of it since less than `idempotencyMs`. Rejects with
     * `conflict` where the key was another request's.
     */
    begin(key: string, fingerprint: Uint8Array, now: number): Promise<KnownRequest>;
    finish(key: string, answer: KnownAnswer): Promise<void>;
    /** Forgets the request. */
    release(key: string): Promise<void>;
    /** Returns how many were removed. */
    removeExpired(now: number): Promise<number>;
  };
  readonly operatorKeys: {
    /** The oldest first. */
    all(): Promise<OperatorKey[]>;
    /** Rejects with `conflict` where the name is taken or there are too many keys. */
    create(key: OperatorKey): Promise<void>;
    /** Keeps the key of a first start, in place of those that were never shown. */
    generate(key: OperatorKey): Promise<void>;
    markShown(id: string, now: number): Promise<void>;
    /** Ends every generated key. */
    endGenerated(): Promise<void>;
    /** Keeps this key in place of every key with the role `operator`; returns how many there were. */
    reset(key: OperatorKey): Promise<number>;
    /**
     * Ends a key. Rejects with `not_found`, and with `conflict` where no operator key would be left, unless
     * `hasOther` says that there is one beside those in the store.
     */
    revoke(id: string, now: number, hasOther: boolean): Promise<void>;
    /** Notes the hour in which it was last used. */
    noteUse(id: string, at: number): Promise<void>;
  };
  readonly settings: {
    get(key: string): Promise<string | null>;
    put(key: string, value: string): Promise<void>;
  };
  close(): Promise<void>;
}
