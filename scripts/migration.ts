/* The next migration of both databases, from what has changed in their schemas: bun run migration NAME */
import { join } from "node:path";

const [name = ""] = process.argv.slice(2);
if (!/^[a-z][a-z0-9_]*$/.test(name)) {
  console.error("Usage: bun run migration NAME, where the name is like refresh_rate");
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
  "Now list each new file in migrations.ts of src/store/sqlite/database and src/store/postgres/database.",
);
