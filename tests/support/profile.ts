import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestApplication, TestServer } from "./server.ts";

/** Writes an application's profile into a directory like `onair login`. Returns the environment that selects it. */
export function profileOf(
  server: TestServer,
  { client_id, client_secret }: TestApplication,
  directory: string,
  name = "default",
): Record<string, string> {
  const profiles = join(directory, "onair", "profiles");
  mkdirSync(profiles, { recursive: true });
  const profile = { url: server.publicUrl, clientId: client_id, clientSecret: client_secret };
  writeFileSync(join(profiles, `${name}.json`), JSON.stringify(profile), { mode: 0o600 });
  return { XDG_CONFIG_HOME: directory };
}
