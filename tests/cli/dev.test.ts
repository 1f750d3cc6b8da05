import { beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Addresses, DevProcess } from "../support/dev.ts";
import { unusedPort } from "../support/ports.ts";
import { expectFailure, fromSource, RunningCommand, run } from "../support/process.ts";
import { ownDirectory, testDirectory } from "../support/server.ts";

const free = ["--port", "0", "--admin-port", "0"];
const directory = testDirectory();

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("a file at the path of the data directory is reported as such", async () => {
  writeFileSync(join(directory, "file"), "");
  const { code, stderr } = await run(["dev", "--data", join(directory, "file"), ...free]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("file is not a directory. Name another one")]);
});

describe("onair dev", () => {
  let dev: DevProcess;
  let first: Addresses;
  const data = join(directory, "main");
  const home = join(directory, "home");

  beforeAll(async () => {
    // As `bun run dev` starts it.
    const args = ["--data", data, ...free, "--json"];
    dev = new DevProcess(args, directory, { XDG_CONFIG_HOME: home }, fromSource);
    first = await dev.addresses();
  });

  test("prints addresses and credentials that work", async () => {
    const { public_url, admin_url, access_token, client_id, client_secret } = first;
    expect(
      await (await fetch(`${public_url}/public/v1/users/LunaBytes`, bearer(access_token))).json(),
    ).toMatchObject({
      user: { username: "LunaBytes", is_verified: true },
      message: "OK",
    });
    const search = await fetch(`${public_url}/public/v1/users/search?query=fox`, bearer(access_token));
    expect(((await search.json()) as { data: unknown[] }).data.length).toBeGreaterThan(1);
    const categories = await fetch(`${public_url}/public/v1/categories?limit=3`);
    // That of a real platform.
    expect(categories.headers.get("ratelimit-limit")).toBe("800");
    const page = (await categories.json()) as { categories: { viewers: number }[] };
    expect(page.categories.map(({ viewers }) => viewers > 0)).toEqual([true, true, true]);
    const token = await fetch(`${public_url}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
    });
    expect(await token.json()).toMatchObject({ scope: "users:read events:subscribe" });
    const subscriptions = await fetch(`${public_url}/public/v1/events/subscriptions`, bearer(access_token));
    expect(((await subscriptions.json()) as { data: unknown[] }).data.length).toBe(30);
    const application = await fetch(`${admin_url}/admin/v1/applications`, {
      method: "POST",
      body: JSON.stringify({ name: "Mine", webhook_url: "http://127.0.0.1:1/hook" }),
      headers: { authorization: `Bearer ${first.admin_key}`, "content-type": "application/json" },
    });
    expect(application.status).toBe(201);
    expect((await fetch(first.docs_url)).status).toBe(200);
    const login = await fetch(first.sign_in_url, { redirect: "manual" });
    expect(login.headers.get("location")).toStartWith(`${public_url}/oauth/authorize?`);
  });

  test("has a second application without webhook URL and subscriptions, for guides", async () => {
    const env = { XDG_CONFIG_HOME: home };
    const shown = await run(["app", "show", "--json", "--profile", "guide"], { env });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      client_id: first.guide.client_id,
      name: "Guide app",
      webhook_url: null,
      subscriptions: { used: 0 },
    });
  });

  test("stores a profile, so that commands work at once", async () => {
    const env = { XDG_CONFIG_HOME: home };
    const shown = await run(["app", "show", "--json"], { env });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      client_id: first.client_id,
      subscriptions: { used: 30 },
    });
    expect((await run(["deliveries", "list", "--json"], { env })).code).toBe(0);
    expect(statSync(join(home, "onair", "profiles", "dev.json")).mode & 0o777).toBe(0o600);
    // So do commands for operators, unless something is named or there is data.
    const cwd = ownDirectory();
    const apps = await run(["apps", "list", "--json"], { env, cwd });
    expect([apps.code, apps.stderr]).toEqual([
      0,
      expect.stringContaining(`"onair dev" at ${first.admin_url}`),
    ]);
    expect(apps.stdout).toContain("Guide app");
    for (const named of [{ ONAIR_DATA: cwd }, { ONAIR_ADMIN_KEY: "x", ONAIR_DATA: cwd }]) {
      const other = await run(["apps", "list", "--json"], { env: { ...env, ...named }, cwd });
      expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("There is no data in ")]);
    }
    // An import goes there, too, and an event has the picture that the platform shows.
    writeFileSync(join(cwd, "users.ndjson"), '{"id": 5001, "username": "imported_one"}\n');
    expect(await run(["import", "users", "users.ndjson"], { env, cwd })).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, "onair-data"))).toBe(false);
    const triggered = await run(["trigger", "channel.followed", "--broadcaster", "imported_one", "--json"], {
      env,
      cwd,
    });
    expect(JSON.parse(triggered.stdout).data.broadcaster.profile_picture).toStartWith(first.public_url);
    const subscribed = await run(["subscriptions", "list"], { env, cwd });
    expect(subscribed.stdout).toContain("  LunaBytes (1001)  ");
    // The key that it printed is for it, and another one is for another platform.
    const withKey = (key: string) =>
      run(["deliveries", "list", "--json"], { env: { ...env, ONAIR_ADMIN_KEY: key }, cwd });
    expect(await withKey(first.admin_key)).toMatchObject({ code: 0 });
    const refused = await withKey("of another platform");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`ONAIR_ADMIN_KEY is not the key of "onair dev" at ${first.admin_url}`),
    ]);
    // A profile of the user wins.
    const profile = { url: first.public_url, clientId: first.guide.client_id, clientSecret: "wrong" };
    writeFileSync(join(home, "onair", "profiles", "default.json"), JSON.stringify(profile), { mode: 0o600 });
    expect((await run(["app", "show"], { env })).code).toBe(1);
    rmSync(join(home, "onair", "profiles", "default.json"));
  });

  test("prints a verified delivery within seconds, and each request; with --json not on standard output", async () => {
    expect(await dev.line((line) => line.includes("verified"))).toMatch(
      /^\d\d:\d\d:\d\d verified [a-z.]+ [A-Za-z0-9_-]+: .+$/,
    );
    expect(await dev.line((line) => line.includes("/users/LunaBytes"))).toMatch(/^\S+ 200 +GET /);
    expect(dev.lines.join("\n")).not.toContain("\x1b");
    expect(JSON.parse(dev.stdout)).toMatchObject({ client_id: first.client_id });
  });

  test("refuses and prints deliveries that were not signed with its secret", async () => {
    const answer = await fetch(first.receiver_url, {
      method: "POST",
      body: "{}",
      headers: {
        "webhook-id": "1",
        "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
        "webhook-signature": "v1,AAAA",
        "onair-event-type": "channel.followed",
      },
    });
    expect(answer.status).toBe(401);
    await dev.line((line) => line.endsWith("refused  channel.followed: wrong signature"));
  });

  test("exits with 0 on Ctrl-C, and the next start has the same data and credentials", async () => {
    expect(await dev.end("SIGINT")).toBe(0);
    const [env, cwd] = [{ XDG_CONFIG_HOME: home }, ownDirectory()];
    const away = await run(["apps", "list"], { env, cwd });
    expect([away.code, away.stderr]).toEqual([
      2,
      expect.stringContaining(`"onair dev" is not running at ${first.admin_url}`),
    ]);
    for (const profile of ["dev", "guide"])
      expect((await run(["app", "show", "--profile", profile], { env, cwd })).stderr).toBe(
        `onair: ${first.public_url} cannot be reached: nothing listens there. Start "onair dev" again, also if it runs: the profile "${profile}" names the one that started last.\n`,
      );
    writeFileSync(join(cwd, "users.ndjson"), '{"id": 5001, "username": "imported_one"}\n');
    const imported = await run(["import", "users", "users.ndjson"], { env, cwd });
    expect([imported.code, imported.stderr]).toEqual([
      0,
      `"onair dev" is not running at ${first.admin_url}: importing into the new data directory onair-data\n`,
    ]);
    const again = new DevProcess(["--data", data, ...free, "--no-events"], directory, env);
    await again.line((line) => line.startsWith("Ctrl-C stops it"));
    const text = again.lines.join("\n");
    for (const value of [
      first.admin_key,
      first.client_id,
      first.client_secret,
      first.access_token,
      first.webhook_secret,
    ]) {
      expect(text).toContain(value);
    }
    // Its former port may be in use by now.
    const { receiver_port } = JSON.parse(readFileSync(join(data, "dev.json"), "utf8"));
    expect(text).toContain(`http://127.0.0.1:${receiver_port}/onair-dev`);
    expect(text).toContain("the data of the last run");
    expect(text).toContain(
      `  Profiles that now name this server: dev, guide (before: ${first.public_url}).\n`,
    );
    expect(text).toContain("dev, guide (as in: onair app show --profile guide)");
    const curls = again.lines.filter((line) => line.startsWith("curl "));
    expect(curls.length).toBe(3);
    for (const curl of curls) {
      const [, url = "", header = ": "] = /^curl '([^']+)'(?: -H '([^']+)')?$/.exec(curl) ?? [];
      const [name = "", value = ""] = header.split(": ");
      expect([url, (await fetch(url, name ? { headers: { [name]: value } } : {})).status]).toEqual([
        url,
        200,
      ]);
    }
    expectFailure(await run(["dev", "--data", data, ...free]), 1, "is in use by process");
    expect(await again.end("SIGTERM")).toBe(0);
  });
});

describe("settings of onair dev", () => {
  test("in .env do not apply to serve", async () => {
    const cwd = ownDirectory();
    writeFileSync(join(cwd, ".env"), "ONAIR_PORT=not-a-port\n");
    const serving = new RunningCommand(["serve", ...free], { cwd });
    expect(await serving.line()).toStartWith("onair ready ");
    expect(await serving.end("SIGTERM")).toBe(0);
    expect(existsSync(join(cwd, "onair-data", "dev.json"))).toBe(false);
    const args = ["dev", "--prot", "1", "--rate-limit", "x"];
    const { code, stdout, stderr } = await run(args, { cwd });
    expect([code, stdout]).toEqual([2, ""]);
    for (const mistake of [
      "ONAIR_PORT must be an integer",
      "--prot is not a known option",
      "--rate-limit must be an integer",
    ])
      expect(stderr).toContain(mistake);
    expect(existsSync(join(cwd, ".onair"))).toBe(false);
  });

  test("fall back to a free port only if no port was requested", async () => {
    const taken = [8080, 8081].map((port) => {
      try {
        return Bun.serve({ hostname: "127.0.0.1", port, reusePort: false, fetch: () => new Response() });
      } catch {
        return null; // another program uses it, which serves the same purpose
      }
    });
    const cwd = ownDirectory();
    const dev = new DevProcess(["--no-events"], cwd);
    await dev.line((line) => line.startsWith("Ctrl-C stops it"));
    expect(dev.lines.join("\n")).toMatch(
      /Port 8080 is in use; the API uses (80[1-9]0|81[0-9]0|a free port)\./,
    );
    expect(dev.lines.join("\n")).toMatch(/Port 8081 is in use; the admin API uses /);
    expect(await dev.end()).toBe(0);
    const { code, stderr } = await run(["dev", "--port", "8080", "--data", join(cwd, "other")], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("8080");
    for (const server of taken) await server?.stop(true);
  });
});

test("a key of onair dev goes to no other program that uses its port since", async () => {
  const keys: (string | null)[] = [];
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ headers }) {
      keys.push(headers.get("authorization"));
      return new Response("hello");
    },
  });
  onTestFinished(() => other.stop(true));
  const cwd = ownDirectory();
  mkdirSync(join(cwd, "onair", "profiles"), { recursive: true });
  const admin = { url: other.url.origin, key: "key-of-a-dev-that-has-ended" };
  const profile = { url: other.url.origin, clientId: "x", clientSecret: "y", admin };
  writeFileSync(join(cwd, "onair", "profiles", "dev.json"), JSON.stringify(profile), { mode: 0o600 });
  const { code, stderr } = await run(["apps", "list"], { env: { XDG_CONFIG_HOME: cwd }, cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining("There is no data in ")]);
  expect(keys).toEqual([null]);
});

test("settings come from .env too; each of the four ports has an option, and one in use is named", async () => {
  const cwd = join(directory, "ports");
  mkdirSync(join(cwd, "onair", "profiles"), { recursive: true });
  // A profile for a platform elsewhere stays.
  const elsewhere = { url: "https://api.example.com", clientId: "x", clientSecret: "y" };
  const file = join(cwd, "onair", "profiles", "dev.json");
  writeFileSync(file, JSON.stringify(elsewhere), { mode: 0o600 });
  const numbers = new Set<number>();
  while (numbers.size < 4) numbers.add(await unusedPort());
  const ports = [...numbers].map(String);
  const names = ["--port", "--admin-port", "--receiver-port", "--sign-in-port"];
  const args = names.flatMap((name, i) => [name, ports[i] ?? ""]);
  writeFileSync(join(cwd, ".env"), "ONAIR_ADMIN_KEY=key-of-the-dotenv-file\nONAIR_RATE_LIMIT=123\n");
  const env = { XDG_CONFIG_HOME: cwd, ONAIR_RATE_LIMIT: "77" };
  const dev = new DevProcess(["--json", "--no-events", ...args], cwd, env);
  const { public_url, admin_url, receiver_url, sign_in_url, admin_key, data } = await dev.addresses();
  expect([admin_key, data]).toEqual(["key-of-the-dotenv-file", join(cwd, ".onair")]);
  const answer = await fetch(`${public_url}/public/v1/categories`);
  expect(answer.headers.get("ratelimit-limit")).toBe("77");
  const urls = [public_url, admin_url, receiver_url, sign_in_url];
  expect(urls.map((url) => new URL(url).port)).toEqual(ports);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(elsewhere);
  const other = ["--data", join(directory, "other"), "--port", "0", "--admin-port", "0"];
  const taken = await run(["dev", ...other, "--receiver-port", ports[0] ?? ""]);
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining("with --receiver-port")]);
  expect(await dev.end()).toBe(0);
  expectFailure(await run(["dev", "--sign-in-port", "99999"]), 2, "--sign-in-port must be a port");
});
