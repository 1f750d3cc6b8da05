/*
 * Runs Bun with a PostgreSQL server for tests: bun tests/support/on-postgres.ts test tests/api
 * The server is private, in a temporary directory, and ends with the command. Does nothing if PostgreSQL is not
 * installed.
 */
import { hasPostgres } from "./postgres.ts";
import { startPostgres } from "./postgres-server.ts";

if (!hasPostgres) process.exit(0);
const server = await startPostgres(["max_connections=600"]);
const child = Bun.spawn([process.execPath, ...process.argv.slice(2)], {
  env: { ...process.env, ONAIR_TEST_DATABASE: server.url("postgres") },
  stdio: ["inherit", "inherit", "inherit"],
});
const code = await child.exited;
await server.stop();
process.exit(code);
