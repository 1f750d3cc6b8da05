import { afterEach } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loginUrl } from "./oauth.ts";
import { run } from "./process.ts";
import { users } from "./real-data.ts";
import { type TestApplication, type TestServer, testDirectory, testServer } from "./server.ts";

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

/**
 * At the top of a file: a server with an application, and a home directory whose profiles are removed after each test.
 */
export async function testProfiles() {
  const server = await testServer({ args: ["--login-url", loginUrl], users });
  const app = await server.application({ delivery: "stream" });
  const url = server.publicUrl;
  const directory = testDirectory();
  const profiles = join(directory, "onair", "profiles");
  const file = (name: string) => join(profiles, `${name}.json`);
  const secretFile = join(directory, "secret");
  writeFileSync(secretFile, `${app.client_secret}\n`);
  const env = { XDG_CONFIG_HOME: directory };
  const onair = (...args: string[]) => run(args, { env });
  afterEach(() => rmSync(profiles, { recursive: true, force: true }));
  return {
    server,
    app,
    url,
    directory,
    profiles,
    secretFile,
    /** The path of a profile. */
    file,
    env,
    onair,
    /** Runs `onair login`, by default as the application. */
    login: (...args: string[]) => {
      const usual = Object.entries({ url, "client-id": app.client_id, "secret-file": secretFile });
      const left = usual.filter(([name]) => !args.includes(`--${name}`));
      return onair("login", ...left.map(([name, value]) => `--${name}=${value}`), ...args);
    },
    read: (name: string) =>
      JSON.parse(readFileSync(file(name), "utf8")) as {
        session: { accessToken: string; expiresAt: number; refreshToken?: string };
      },
    /** True when the server accepts a token. */
    works: async (token: string) =>
      (await server.get("/public/v1/events/subscriptions", token)).status === 200,
  };
}
