/* Generates the next migration of both databases from the changes of their schemas: bun run migration NAME */
import { join } from "node:path";

const [name = ""] = process.argv.slice(2);
if (!/^[a-z][a-z0-9_]*$/.test(name)) {
  console.error("Usage: bun run migration NAME, with a name like refresh_rate");
  process.exit(2);
}
const root = join(import.meta.dir, "..");
const kit = join(root, "drizzle", "kit");
const run = (...cmd: string[]) => {
  const { exitCode } = Bun.spawnSync({ cmd, cwd: root, stdio: ["inherit", "inherit", "inherit"] });
  if (exitCode !== 0) process.exit(exitCode);
};
run("bun", "install", "--frozen-lockfile", "--silent", "--cwd", kit);
for (const database of ["sqlite", "postgres"]) {
  const config = join("drizzle", `${database}.config.ts`);
  run(join(kit, "node_modules", ".bin", "drizzle-kit"), "generate", "--config", config, "--name", name);
}
console.log(
  "Now add each new file to migrations.ts in src/store/sqlite/database and in src/store/postgres/database.",
);
