import { type Column, getTableColumns } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { CopiedNoun } from "../../operations/copy.ts";
import * as access from "../schema/access.ts";
import * as admin from "../schema/admin.ts";
import { audit } from "../schema/audit.ts";
import * as events from "../schema/events.ts";
import { notices } from "../schema/notices.ts";
import * as platform from "../schema/platform.ts";
import { statistics } from "../schema/statistics.ts";

/** The tables of this side that are copied. */
export const sqliteTables: { readonly [Noun in CopiedNoun | "attempts"]: SQLiteTable } = {
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
  event_types: events.eventTypes,
  subscriptions: events.subscriptions,
  events: events.events,
  deliveries: events.deliveries,
  attempts: events.attempts,
  removed_deliveries: events.removedDeliveries,
  endpoints: events.endpoints,
  replays: events.replays,
  notices,
  audit,
  statistics,
};

/** Those that are not, and why. */
export const sqliteNotCopied: Readonly<Record<string, string>> = {
  staged_events: "is moved into events and deliveries when the source is opened",
  search_statistics: "is made of the users, with the index of the search",
  subscription_counts: "is kept by triggers",
  operator_sessions: "begin anew by signing in",
};

/** The columns of a table by their names. */
export const columnsOf = (table: SQLiteTable): [string, Column][] => Object.entries(getTableColumns(table));
