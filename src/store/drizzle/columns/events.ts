import type { DeliveryStatus } from "../../../domain/deliveries.ts";
import type { DisabledReason } from "../../../domain/endpoints.ts";
import type { ReplayState } from "../../../domain/replays.ts";
import type { Kinds, ReferredColumn } from "./kinds.ts";

export const subscriptionColumns = (
  { text, integer }: Kinds,
  application: ReferredColumn,
  user: ReferredColumn,
) => ({
  id: text().primaryKey(),
  app_id: text().notNull().references(application, { onDelete: "cascade" }),
  broadcaster_user_id: integer().references(user, { onDelete: "cascade" }),
  event: text().notNull(),
  version: integer().notNull(),
  /** Number of deliveries so far: the last `Onair-Sequence`. In no index, so that incrementing it writes to none. */
  sequence: integer().notNull().default(0),
  created_at: text().notNull(),
  updated_at: text().notNull(),
});

/** Event types registered by operators. */
export const eventTypeColumns = ({ text, integer, boolean, json }: Kinds) => ({
  name: text().notNull(),
  version: integer().notNull(),
  description: text().notNull(),
  /** JSON Schema of the payload. */
  schema: json<Readonly<Record<string, unknown>>>().notNull(),
  example: json<Readonly<Record<string, unknown>>>().notNull(),
  time_to_live_seconds: integer(),
  /** Whether an event of it was ever published. */
  is_published: boolean().notNull().default(false),
  created_at: text().notNull(),
  updated_at: text().notNull(),
});

/** The highest number (`up_to`) of an application's deliveries that retention has removed. */
export const removedDeliveryColumns = ({ text, integer }: Kinds, application: ReferredColumn) => ({
  application_id: text().primaryKey().references(application, { onDelete: "cascade" }),
  up_to: integer().notNull(),
});

export const endpointColumns = ({ text, integer }: Kinds, application: ReferredColumn) => ({
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
});

export const replayColumns = ({ text, integer, boolean }: Kinds, application: ReferredColumn) => ({
  id: text().primaryKey(),
  application_id: text().notNull().references(application, { onDelete: "cascade" }),
  broadcaster_user_id: integer(),
  subscription_id: text(),
  status: text().$type<DeliveryStatus>(),
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
});
