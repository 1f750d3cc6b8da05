/*
 * Makes the types of the admin API's answers that the console reads, from its OpenAPI document. `bun run types` calls
 * it; nothing of it is needed at run time. Those of the public API are in src/client.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const directory = join(root, "src/console/generated");
mkdirSync(directory, { recursive: true });
const document = join(directory, "admin.json");
run("src/main.ts", "openapi", "--admin", "--out", document);
await Bun.write(join(directory, "admin.d.ts"), run("scripts/openapi-types.ts", document));

/** The output of a program of this checkout. Throws when it fails. */
function run(program: string, ...args: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, join(root, program), ...args]);
  if (exitCode !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout.toString();
}
