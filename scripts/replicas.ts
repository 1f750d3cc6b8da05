/*
 * Runs replicas on this machine, for experiments: PostgreSQL in a temporary directory, and by default three servers.
 * bun scripts/replicas.ts [number of replicas] [first port]
 */
import { startPostgres } from "../tests/support/postgres-server.ts";

const count = Number(process.argv[2] ?? 3);
const firstPort = Number(process.argv[3] ?? 8080);
if (!Number.isInteger(count) || count < 1 || count > 16) {
  process.stderr.write("The number of replicas must be an integer from 1 to 16.\n");
  process.exit(2);
}
if (!Number.isInteger(firstPort) || firstPort < 1 || firstPort > 65_000) {
  process.stderr.write("The first port must be an integer from 1 to 65000.\n");
  process.exit(2);
}

const adminKey = "operator-key-of-three-replicas";
const postgres = await startPostgres(["fsync=on"]);
const database = postgres.url("postgres");
const program = [process.execPath, "--no-env-file", new URL("../src/main.ts", import.meta.url).pathname];
const replicas = Array.from({ length: count }, (_, i) => {
  const ports = ["--port", String(firstPort + 10 * i), "--admin-port", String(firstPort + 1 + 10 * i)];
  return Bun.spawn([...program, "serve", "--allow-private-webhooks", ...ports], {
    env: { ...process.env, ONAIR_DATABASE: database, ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "warn" },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
});
process.stdout.write(`PostgreSQL  ${database}
Admin key   ${adminKey}
Replicas    ${replicas.map(({ pid }) => pid).join(", ")} (process ids, to kill with -9, -STOP and -CONT)
Owners of shards: psql '${database}' -c 'SELECT owner, count(*) FROM endpoint_shards GROUP BY owner'
Stop all with Ctrl-C.
`);

let isEnding = false;
const end = async (): Promise<void> => {
  if (isEnding) return;
  isEnding = true;
  for (const replica of replicas) {
    replica.kill("SIGCONT");
    replica.kill("SIGTERM");
  }
  await Promise.all(replicas.map(({ exited }) => exited));
  await postgres.stop();
  process.exit();
};
process.on("SIGINT", end);
process.on("SIGTERM", end);
for (const { exited } of replicas)
  exited.then((code) => {
    // A killed replica has another exit code.
    if (code !== 1 || isEnding) return;
    process.stderr.write(
      "A replica could not run, so all are stopped. To use other ports: bun scripts/replicas.ts 3 9080\n",
    );
    process.exitCode = 1;
    void end();
  });
await Promise.all(replicas.map(({ exited }) => exited));
await end();
