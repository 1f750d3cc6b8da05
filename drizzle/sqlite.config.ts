// After a change of the schema: `bun run migration NAME` writes the next file of drizzle/sqlite, which
// src/store/sqlite/database/migrations.ts lists.
export default {
  dialect: "sqlite",
  schema: "./src/store/sqlite/schema/*.ts",
  out: "./drizzle/sqlite",
};
