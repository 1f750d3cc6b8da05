// After a change of the schema: `bun run migration NAME` writes the next file of drizzle/postgres, which
// src/store/postgres/database/migrations.ts lists. drizzle-kit knows no partitions: those are written by hand.
export default {
  dialect: "postgresql",
  schema: "./src/store/postgres/schema/*.ts",
  out: "./drizzle/postgres",
};
