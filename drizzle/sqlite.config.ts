/* What `bun run migration` makes drizzle/sqlite/0000_start.sql from, together with sqlite.appended.sql. */
export default {
  dialect: "sqlite",
  schema: "./src/store/sqlite/schema.ts",
  out: "./drizzle/sqlite",
};

/** What drizzle cannot express: a pattern that matches its SQL once, and what replaces the match. */
export const amendments: readonly (readonly [RegExp, string])[] = [
  // drizzle-kit splits an expression at its comma.
  [/`ifnull\("broadcaster_user_id"`,` 0\)`/, 'ifnull("broadcaster_user_id", 0)'],
  [/(CREATE TABLE `attempts` \([^;]*\n\));/, "$1 WITHOUT ROWID;"],
];
