/* What `bun run migration` makes drizzle/postgres/0000_start.sql from, together with postgres.appended.sql. */
export default {
  dialect: "postgresql",
  schema: "./src/postgres/schema.ts",
  out: "./drizzle/postgres",
};

/** Columns that are compared and sorted as bytes, as SQLite does, whatever the collation of the database. */
const collated: Readonly<Record<string, readonly string[]>> = {
  applications: ["id"],
  authorization_codes: ["application_id", "family_id"],
  consents: ["application_id"],
  deliveries: ["id", "event_id", "type", "application_id", "subscription_id", "status"],
  endpoints: ["application_id"],
  event_ids: ["id"],
  event_types: ["name"],
  login_requests: ["application_id"],
  operator_keys: ["id"],
  refresh_tokens: ["application_id", "family_id"],
  removed_deliveries: ["application_id"],
  replays: ["id", "application_id", "subscription_id", "status", "type"],
  subscriptions: ["id", "app_id", "event"],
  tokens: ["application_id", "family_id"],
  users: ["folded"],
};

/** Options that follow the columns of a table. */
const options: Readonly<Record<string, string>> = {
  deliveries: 'PARTITION BY RANGE ("seq")',
  events: 'PARTITION BY RANGE ("seq")',
  subscriptions: "WITH (fillfactor = 80)",
  // A row whose popularity changes stays on its page, and then no index entry is written.
  user_search: "WITH (fillfactor = 90)",
};

/** What drizzle cannot express: a pattern that matches its SQL once, and what replaces the match. */
export const amendments: readonly (readonly [RegExp, string])[] = [
  ...Object.entries(collated).flatMap(([table, columns]) =>
    columns.map(
      (column) =>
        [new RegExp(`(CREATE TABLE "${table}" \\([^;]*?\\t"${column}" text)`), '$1 COLLATE "C"'] as const,
    ),
  ),
  ...Object.entries(options).map(
    ([table, option]) => [new RegExp(`(CREATE TABLE "${table}" \\([^;]*\\n\\));`), `$1 ${option};`] as const,
  ),
  // A walk of the search along the index reads nothing else.
  [/(CREATE INDEX "users_popularity" [^;]*);/, '$1 INCLUDE ("folded");'],
];
