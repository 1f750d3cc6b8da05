import { index, primaryKey, sqliteTable } from "drizzle-orm/sqlite-core";
import {
  applicationColumns,
  authorizationCodeColumns,
  consentColumns,
  loginRequestColumns,
  refreshTokenColumns,
  tokenColumns,
} from "../../drizzle/columns/access.ts";
import { shared } from "./columns.ts";
import { users } from "./platform.ts";

const user = () => users.id;
const application = () => applications.id;

export const applications = sqliteTable("applications", shared(applicationColumns, user), (table) => [
  index("applications_owner").on(table.owner_user_id),
]);

export const tokens = sqliteTable("tokens", shared(tokenColumns, application, user), (table) => [
  index("tokens_expiry").on(table.expires_at),
  // Entries without a user, the application's own tokens, are adjacent and ordered by rowid, the order of insertion.
  index("tokens_application").on(table.application_id, table.user_id),
  index("tokens_user").on(table.user_id),
  index("tokens_family").on(table.family_id),
]);

export const loginRequests = sqliteTable(
  "login_requests",
  shared(loginRequestColumns, application, user),
  (table) => [
    index("login_requests_expiry").on(table.expires_at),
    index("login_requests_application").on(table.application_id),
    index("login_requests_user").on(table.user_id),
  ],
);

export const authorizationCodes = sqliteTable(
  "authorization_codes",
  shared(authorizationCodeColumns, application, user),
  (table) => [
    index("authorization_codes_expiry").on(table.expires_at),
    index("authorization_codes_application").on(table.application_id),
    index("authorization_codes_user").on(table.user_id),
  ],
);

export const refreshTokens = sqliteTable(
  "refresh_tokens",
  shared(refreshTokenColumns, application, user),
  (table) => [
    index("refresh_tokens_expiry").on(table.expires_at),
    index("refresh_tokens_application").on(table.application_id),
    index("refresh_tokens_user").on(table.user_id),
    index("refresh_tokens_of_family").on(table.family_id, table.expires_at),
  ],
);

export const consents = sqliteTable("consents", shared(consentColumns, application, user), (table) => [
  primaryKey({ columns: [table.user_id, table.application_id] }),
  index("consents_application").on(table.application_id),
]);
