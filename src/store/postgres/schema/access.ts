import { sql } from "drizzle-orm";
import { bigint, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import {
  applicationColumns,
  authorizationCodeColumns,
  consentColumns,
  loginRequestColumns,
  refreshTokenColumns,
  tokenColumns,
} from "../../drizzle/columns/access.ts";
import { kinds } from "./columns.ts";
import { users } from "./platform.ts";

const user = () => users.id;
const application = () => applications.id;

/** Numbers the rows in the order of their insertion. */
const made = () => bigint({ mode: "number" }).generatedAlwaysAsIdentity().notNull();

export const applications = pgTable("applications", applicationColumns(kinds, user), (table) => [
  index("applications_owner").on(table.owner_user_id),
]);

export const tokens = pgTable(
  "tokens",
  { ...tokenColumns(kinds, application, user), made: made() },
  (table) => [
    index("tokens_expiry").on(table.expires_at),
    index("tokens_application").on(table.application_id, table.expires_at),
    index("tokens_own").on(table.application_id, table.made).where(sql`${table.user_id} IS NULL`),
    index("tokens_user").on(table.user_id, table.application_id),
    index("tokens_family").on(table.family_id).where(sql`${table.family_id} IS NOT NULL`),
  ],
);

export const loginRequests = pgTable(
  "login_requests",
  loginRequestColumns(kinds, application, user),
  (table) => [
    index("login_requests_expiry").on(table.expires_at),
    index("login_requests_application").on(table.application_id),
    index("login_requests_user").on(table.user_id),
  ],
);

export const authorizationCodes = pgTable(
  "authorization_codes",
  authorizationCodeColumns(kinds, application, user),
  (table) => [
    index("authorization_codes_expiry").on(table.expires_at),
    index("authorization_codes_application").on(table.application_id),
    index("authorization_codes_user").on(table.user_id, table.application_id),
  ],
);

export const refreshTokens = pgTable(
  "refresh_tokens",
  refreshTokenColumns(kinds, application, user),
  (table) => [
    index("refresh_tokens_expiry").on(table.expires_at),
    index("refresh_tokens_application").on(table.application_id),
    index("refresh_tokens_user").on(table.user_id, table.application_id),
    index("refresh_tokens_of_family").on(table.family_id, table.expires_at),
  ],
);

export const consents = pgTable("consents", consentColumns(kinds, application, user), (table) => [
  primaryKey({ columns: [table.user_id, table.application_id] }),
  index("consents_application").on(table.application_id),
]);
