import type { $Type, BuildColumns, HasDefault, IsIdentity, IsPrimaryKey, NotNull } from "drizzle-orm";
import type {
  AnyPgColumn,
  boolean,
  PgBigInt53BuilderInitial,
  PgColumnBuilderBase,
  PgCustomColumnBuilder,
  PgSmallIntBuilderInitial,
  PgTableWithColumns,
  PgTextBuilderInitial,
  text,
} from "drizzle-orm/pg-core";
import type {
  ClientType,
  DeliveryMode,
  FormerUrl,
  LockableField,
  RetiredSecret,
} from "../../domain/applications.ts";
import type { AuditedValue, NewAuditEntry } from "../../domain/audit.ts";
import type { Tag } from "../../domain/categories.ts";
import type { DeliveryStatus, StatusFilter } from "../../domain/deliveries.ts";
import type { DisabledReason } from "../../domain/endpoints.ts";
import type { Filters } from "../../domain/filters.ts";
import type { NoticeSending, NoticeType } from "../../domain/notices.ts";
import type { KeySource, Role } from "../../domain/operator-keys.ts";
import type { ReplayState } from "../../domain/replays.ts";
import type { RefusedRequest, RequestHour } from "../../domain/requests.ts";
import type { StatisticKind, StatisticPeriod } from "../../domain/statistics.ts";
import type { LoginAnswer, Scope, ScopeName } from "../../domain/tokens.ts";
import type { WebhookHeader } from "../../domain/webhook-headers.ts";

/*
 * The tables that both databases have, without indexes and without columns that only one of them has. Their types are
 * PostgreSQL's.
 *
 * Integer times are milliseconds since the epoch, by the clock of the server. Text times are ISO 8601 and only shown.
 * Those of the platform are stored as it sent them, with up to nine digits of a second.
 */

type Integer = PgBigInt53BuilderInitial<"">;

/** A column whose values the constructor converts. */
type Custom<Data, DriverData> = PgCustomColumnBuilder<{
  name: "";
  dataType: "custom";
  columnType: "PgCustomColumn";
  data: Data;
  driverParam: DriverData;
  enumValues: undefined;
}>;

type Text = PgTextBuilderInitial<"", [string, ...string[]]>;

/** Constructors of columns. Each database has its own. */
export interface Kinds {
  readonly text: typeof text;
  /** Integers up to 2^53-1: ids of the platform, counts, and milliseconds. */
  readonly integer: () => Integer;
  readonly boolean: typeof boolean;
  readonly bytes: () => Custom<Buffer, Buffer>;
  /** JSON exactly as it was stored. */
  readonly json: <T>() => Custom<T, unknown>;
  /** A list of words, such as scopes. */
  readonly words: <T extends string>() => Custom<readonly T[], string[]>;
  /** A primary key that numbers the rows in the order of their insertion. */
  readonly counter: () => IsIdentity<IsPrimaryKey<NotNull<Integer>>, "always">;
}

type SmallInteger = PgSmallIntBuilderInitial<"">;

/** The columns of `tags`, which each database declares itself. */
export type TagColumns = {
  id: IsPrimaryKey<NotNull<Integer>>;
  name: NotNull<Text>;
};

/** The columns of `deliveries` that both databases have. Each declares them itself, because it has others as well. */
export type DeliveryColumns = {
  seq: IsPrimaryKey<NotNull<Integer>>;
  id: NotNull<Text>;
  event_seq: NotNull<Integer>;
  application_id: NotNull<Text>;
  subscription_id: NotNull<Text>;
  sequence: NotNull<Integer>;
  status: NotNull<$Type<Text, DeliveryStatus>>;
  attempts: HasDefault<NotNull<SmallInteger>>;
  extra_attempts: HasDefault<NotNull<SmallInteger>>;
  next_attempt_at: Integer;
  resume_at: Integer;
  expires_at: Integer;
  finished_at: Integer;
};

/** The columns that foreign keys refer to: the ids of these. */
export type Referred<Column = AnyPgColumn> = Readonly<
  Record<"user" | "channel" | "category" | "application", () => Column>
>;

/** Returns the columns that both databases have, by their tables. */
export function commonColumns(
  { text, integer, boolean, bytes, json, words, counter }: Kinds,
  { user, channel, category, application }: Referred,
) {
  /** Columns of grants on behalf of a user. Such a row is removed with its application or its user. */
  const onBehalf = () => ({
    application_id: text().notNull().references(application, { onDelete: "cascade" }),
    user_id: integer().notNull().references(user, { onDelete: "cascade" }),
    scopes: words<ScopeName>().notNull(),
  });

  return {
    users: {
      id: integer().primaryKey(),
      username: text().notNull(),
      display_name: text().notNull(),
      bio: text().notNull(),
      profile_picture: text(),
      followers_count: integer().notNull(),
      following_count: integer().notNull(),
      is_verified: boolean().notNull(),
      created_at: text().notNull(),
    },
    categories: {
      id: integer().primaryKey(),
      name: text().notNull(),
      slug: text().notNull().unique(),
      icon: text(),
      banner: text(),
      description: text().notNull(),
      tags: json<readonly Tag[]>().notNull(),
    },
    channels: {
      id: integer().primaryKey(),
      user_id: integer().notNull().references(user, { onDelete: "cascade" }),
      slug: text().notNull().unique(),
      name: text().notNull(),
      profile_image: text(),
    },
    livestreams: {
      channel_id: integer().primaryKey().references(channel, { onDelete: "cascade" }),
      category_id: integer().notNull().references(category, { onDelete: "cascade" }),
      viewers: integer().notNull(),
      title: text().notNull(),
      language: text().notNull(),
      started_at: text().notNull(),
    },
    // Scopes of tokens, codes and login requests are stored as they were requested.
    applications: {
      id: text().primaryKey(),
      name: text().notNull(),
      client_type: text().$type<ClientType>().notNull(),
      /** Empty for a public client. */
      client_secret_hash: bytes().notNull(),
      delivery: text().$type<DeliveryMode>().notNull().default("webhook"),
      webhook_url: text(),
      former_urls: json<readonly FormerUrl[]>().notNull().default([]),
      webhook_headers: json<readonly WebhookHeader[]>().notNull().default([]),
      webhook_secret: text().notNull(),
      retired_webhook_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
      filters: json<Filters>().notNull().default({}),
      /** Incremented with each change of the filters. */
      filters_generation: integer().notNull().default(0),
      retired_client_secrets: json<readonly RetiredSecret[]>().notNull().default([]),
      /** Empty for a public client. */
      client_secret_prefix: text().notNull(),
      client_secret_created_at: integer().notNull(),
      webhook_secret_created_at: integer().notNull(),
      locked: words<LockableField>().notNull().default([]),
      owner_user_id: integer().references(user, { onDelete: "set null" }),
      disabled: boolean().notNull().default(false),
      /** Incremented with each new webhook URL, each change to `stream`, and each time a person enables it. */
      endpoint_generation: integer().notNull().default(0),
      scopes: words<Scope>().notNull(),
      redirect_uris: words<string>().notNull(),
      rate_limit: integer(),
      subscription_limit: integer(),
      webhook_concurrency: integer(),
      created_at: text().notNull(),
      updated_at: text().notNull(),
    },
    tokens: {
      hash: bytes().primaryKey(),
      application_id: text().notNull().references(application, { onDelete: "cascade" }),
      user_id: integer().references(user, { onDelete: "cascade" }),
      scopes: words<ScopeName>().notNull(),
      expires_at: integer().notNull(),
      /**
       * Equal for tokens that are revoked together: those of an authorization code, or of an application's portal.
       */
      family_id: text(),
      /** The refresh token that was issued with the access token; null for none. */
      refresh_hash: bytes(),
      created_at: integer().notNull(),
      /** A use of the token that is at most an hour older than its last use; null before the first. */
      last_used_at: integer(),
    },
    loginRequests: {
      challenge_hash: bytes().primaryKey(),
      browser_hash: bytes().notNull(),
      application_id: text().notNull().references(application, { onDelete: "cascade" }),
      redirect_uri: text().notNull(),
      scopes: words<ScopeName>().notNull(),
      state: text(),
      code_challenge: text().notNull(),
      expires_at: integer().notNull(),
      /** Null after the only use of the verifier. */
      verifier_hash: bytes().unique(),
      answer: json<LoginAnswer>().notNull(),
      /** Null for a rejection. */
      user_id: integer().references(user, { onDelete: "cascade" }),
    },
    authorizationCodes: {
      hash: bytes().primaryKey(),
      ...onBehalf(),
      redirect_uri: text().notNull(),
      code_challenge: text().notNull(),
      /** The family of the tokens that are issued for the code. */
      family_id: text().notNull(),
      expires_at: integer().notNull(),
      used_at: integer(),
    },
    refreshTokens: {
      hash: bytes().primaryKey(),
      ...onBehalf(),
      family_id: text().notNull(),
      expires_at: integer().notNull(),
      /** The refresh token that was exchanged for this token; null for the first of a family. */
      parent_hash: bytes(),
      /**
       * When it was first used, or `graceEnded`. A used token is kept until it expires, so that its reuse is noticed.
       */
      rotated_at: integer(),
    },
    consents: {
      ...onBehalf(),
      scopes: words<Scope>().notNull(),
      created_at: text().notNull(),
      updated_at: text().notNull(),
    },
    subscriptions: {
      id: text().primaryKey(),
      app_id: text().notNull().references(application, { onDelete: "cascade" }),
      broadcaster_user_id: integer().references(user, { onDelete: "cascade" }),
      event: text().notNull(),
      version: integer().notNull(),
      /** Number of deliveries so far: the last `Onair-Sequence`. In no index, so that an increment writes to none. */
      sequence: integer().notNull().default(0),
      created_at: text().notNull(),
      updated_at: text().notNull(),
    },
    /** Event types registered by operators. */
    eventTypes: {
      name: text().notNull(),
      version: integer().notNull(),
      description: text().notNull(),
      /** JSON Schema of the payload. */
      schema: json<Readonly<Record<string, unknown>>>().notNull(),
      example: json<Readonly<Record<string, unknown>>>().notNull(),
      time_to_live_seconds: integer(),
      /** Whether an event of the type was ever published. */
      is_published: boolean().notNull().default(false),
      created_at: text().notNull(),
      updated_at: text().notNull(),
    },
    /** The highest number (`up_to`) of an application's deliveries that retention has removed. */
    removedDeliveries: {
      application_id: text().primaryKey().references(application, { onDelete: "cascade" }),
      up_to: integer().notNull(),
    },
    endpoints: {
      application_id: text().primaryKey().references(application, { onDelete: "cascade" }),
      failing_since: integer(),
      failures: integer().notNull(),
      warned_at: integer(),
      disabled_at: integer(),
      disabled_reason: text().$type<DisabledReason>(),
      last_success_at: integer(),
      last_failure_at: integer(),
      last_failure_status: integer(),
      last_failure_error: text(),
      last_failure_outcome: text(),
      paused_until: integer(),
      revision: integer().notNull(),
      last_failing_since: integer(),
      resumes_at: integer(),
    },
    replays: {
      id: text().primaryKey(),
      application_id: text().notNull().references(application, { onDelete: "cascade" }),
      broadcaster_user_id: integer(),
      subscription_id: text(),
      of_broadcaster: integer(),
      status: text().$type<StatusFilter>(),
      type: text(),
      from_at: integer().notNull(),
      to_at: integer().notNull(),
      dry_run: boolean().notNull(),
      state: text().$type<ReplayState>().notNull(),
      /** The numbers of the range, from `first` to below `end`. Fixed when the replay is created. */
      first: integer().notNull(),
      end: integer().notNull(),
      /** The first number that was not read yet. */
      position: integer().notNull(),
      matched: integer().notNull().default(0),
      queued: integer().notNull().default(0),
      skipped_body: integer().notNull().default(0),
      skipped_subscription: integer().notNull().default(0),
      skipped_attempts: integer().notNull().default(0),
      created_at: integer().notNull(),
      finished_at: integer(),
    },
    settings: {
      key: text().primaryKey(),
      value: text().notNull(),
    },
    /** Requests of the admin API with an `Idempotency-Key`. */
    idempotencyKeys: {
      key: text().primaryKey(),
      /**
       * Hash of the request, to tell a repetition from another request with the same key. Empty when the key was
       * released.
       */
      fingerprint: bytes().notNull(),
      first_seen_at: integer().notNull(),
      /** The status of the answer; null while there is no answer. */
      status: integer(),
      answer: text(),
    },
    /** Keys of the admin API, except a key from the environment. */
    operatorKeys: {
      id: text().primaryKey(),
      name: text().notNull(),
      role: text().$type<Role>().notNull(),
      source: text().$type<KeySource>().notNull(),
      /** SHA-256 of the key, in base64. */
      hash: text().notNull().unique(),
      prefix: text().notNull(),
      created_at: integer().notNull(),
      expires_at: integer(),
      last_used_at: integer(),
      shown_at: integer(),
    },
    /** Open sessions of the console. */
    operatorSessions: {
      /** SHA-256 over the secret in the cookie and the hash of the key. */
      hash: bytes().primaryKey(),
      expires_at: integer().notNull(),
      /** The operator key that the session was begun with. */
      key_id: text().notNull(),
    },
    /**
     * The audit log; see `domain/audit.ts`. Entries have no foreign keys, and remain when their object is
     * removed.
     */
    audit: {
      seq: counter(),
      /** Entries with the same key are merged. Null for an entry that is never merged. */
      merge_key: text().unique(),
      at: integer().notNull(),
      last_at: integer().notNull(),
      count: integer().notNull(),
      actor_kind: text().$type<NewAuditEntry["actor_kind"]>().notNull(),
      actor_id: text().notNull(),
      actor_name: text().notNull(),
      action: text().notNull(),
      object: text().notNull(),
      object_id: text(),
      object_name: text(),
      fields: words<string>().notNull(),
      changes: json<readonly AuditedValue[]>().notNull(),
      address: text().notNull(),
      request_id: text().notNull(),
      accepted: integer(),
      ended: integer(),
    },
    /** Notices for developers and operators; see `domain/notices.ts`. */
    notices: {
      seq: counter(),
      id: text().notNull().unique(),
      type: text().$type<NoticeType>().notNull(),
      /** Null for a notice about the server. */
      application_id: text().references(application, { onDelete: "cascade" }),
      body: text().notNull(),
      created_at: integer().notNull(),
      status: text().$type<NoticeSending["status"]>().notNull(),
      attempts: integer().notNull(),
      next_attempt_at: integer(),
      error: text(),
    },
    /** What each application asked of late; see `domain/requests.ts`. */
    applicationRequests: {
      application_id: text().primaryKey().references(application, { onDelete: "cascade" }),
      hours: json<readonly RequestHour[]>().notNull(),
      refused: json<readonly RefusedRequest[]>().notNull(),
    },
    /** Counts of deliveries and requests; see `domain/statistics.ts`. */
    statistics: {
      kind: text().$type<StatisticKind>().notNull(),
      subject: text().notNull(),
      period: text().$type<StatisticPeriod>().notNull(),
      /** When the period began. */
      at: integer().notNull(),
      counts: json<Readonly<Record<string, number>>>().notNull(),
      durations: json<readonly number[]>().notNull(),
    },
  };
}

export type CommonColumns = ReturnType<typeof commonColumns>;

/** The table that these columns make. */
export type TableOf<Columns extends Record<string, PgColumnBuilderBase>> = PgTableWithColumns<{
  name: string;
  schema: undefined;
  columns: BuildColumns<string, Columns, "pg">;
  dialect: "pg";
}>;
