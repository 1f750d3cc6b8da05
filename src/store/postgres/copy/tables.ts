import { type Column, getTableColumns } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { CopiedNoun } from "../../operations/copy.ts";
import * as access from "../schema/access.ts";
import * as admin from "../schema/admin.ts";
import { audit } from "../schema/audit.ts";
import * as log from "../schema/deliveries.ts";
import { notices } from "../schema/notices.ts";
import * as platform from "../schema/platform.ts";
import { statistics } from "../schema/statistics.ts";
import { eventTypes, subscriptions } from "../schema/subscriptions.ts";

/** The tables of this side that are copied; what is known of an event is in several. */
export const postgresTables = {
  settings: admin.settings,
  operator_keys: admin.operatorKeys,
  idempotency_keys: admin.idempotencyKeys,
  users: platform.users,
  tags: platform.tags,
  categories: platform.categories,
  channels: platform.channels,
  livestreams: platform.livestreams,
  applications: access.applications,
  tokens: access.tokens,
  login_requests: access.loginRequests,
  authorization_codes: access.authorizationCodes,
  refresh_tokens: access.refreshTokens,
  consents: access.consents,
  event_types: eventTypes,
  subscriptions,
  events: log.events,
  event_ids: log.eventIds,
  delivery_times: log.deliveryTimes,
  deliveries: log.deliveries,
  removed_deliveries: log.removedDeliveries,
  endpoints: log.endpoints,
  replays: log.replays,
  notices,
  audit,
  statistics,
} as const satisfies { readonly [Noun in CopiedNoun]: PgTable } & Readonly<Record<string, PgTable>>;

export type PostgresTable = keyof typeof postgresTables;

/** Those that are not copied, and why. */
export const postgresNotCopied: Readonly<Record<string, string>> = {
  user_search: "is made of the users",
  delivery_parts: "is made for the numbers of what is copied",
  category_orders: "are kept for minutes, for walks that can begin anew",
  endpoint_shards: "says which process sends now",
  replicas: "says which processes run now",
  operator_sessions: "begin anew by signing in",
};

/** Columns that this side alone has, and where they come from. */
export const ownColumns: Readonly<Record<string, string>> = {
  "users.folded": "is made of the names",
  "tokens.made": "counts the rows, which are copied in their order",
  "login_requests.made": "counts the rows, which are copied in their order",
  "subscriptions.published_by": "says which process has published last",
};

/** The columns of a table that are copied, and their types. */
export function copiedColumns(table: PostgresTable): readonly { name: string; type: string }[] {
  const columns: [string, Column][] = Object.entries(getTableColumns(postgresTables[table]));
  return columns
    .map(([name, column]) => ({ name, type: column.getSQLType() }))
    .filter(({ name }) => !(`${table}.${name}` in ownColumns));
}
