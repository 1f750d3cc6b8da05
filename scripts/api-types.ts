/*
 * Generates the types of both APIs from their OpenAPI documents: the public API for the clients in TypeScript, Python
 * and Go, the admin API for the console. `bun run types` and `bun run build` call it; nothing is needed at run time.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goFile } from "./sdk/go.ts";
import { pythonModule } from "./sdk/python.ts";
import { readDocument, type SdkDocument } from "./sdk/read-document.ts";

const root = join(import.meta.dir, "..");
// Outside the checkout, where a changed folder would make the executable look out of date.
const directory = mkdtempSync(join(tmpdir(), "onair-api-types-"));
const document = join(directory, "openapi.json");
mkdirSync(join(root, "src/web/generated"), { recursive: true });
await make("src/client/api.d.ts", "--public-url", "https://api.example.com");
const sdk = readDocument((await Bun.file(document).json()) as SdkDocument);
await Bun.write(join(root, "clients/python/src/onair_client/api.py"), pythonModule(sdk));
await Bun.write(join(root, "clients/go/api.go"), goFile(sdk));
await make("src/web/generated/admin.d.ts", "--admin");
rmSync(directory, { recursive: true });

/** Writes the types of the document that `onair openapi` prints with these options. */
async function make(file: string, ...options: readonly string[]): Promise<void> {
  run("src/main.ts", "openapi", ...options, "--out", document);
  await Bun.write(join(root, file), run("scripts/openapi-types.ts", document));
}

/** Runs a program of this checkout and returns its output. Throws when it fails. */
function run(program: string, ...args: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, join(root, program), ...args]);
  if (exitCode !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout.toString();
}
