import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, run } from "../support/process.ts";
import { startServer, testDirectory, testServer } from "../support/server.ts";

const directory = testDirectory();
const onair = (args: string[], env: Record<string, string> = {}) => run(["openapi", ...args], { env });
const served = async (url: string) => (await fetch(`${url}/openapi.json`)).text();
const serversOf = (document: string) => (JSON.parse(document) as { servers: unknown }).servers;

// Settings that differ from all defaults. None may appear in the document.
const server = await testServer({
  args: ["--login-url", "https://platform.example/login", "--rate-limit", "7", "--subscription-limit", "3"],
  env: { ONAIR_TIME_TO_LIVE: "channel.followed=60" },
});
const type = { version: 1, schema: { type: "object" }, example: {} };
expect((await server.admin("PUT", "/admin/v1/event-types/raffle.won", type)).status).toBe(200);

describe("prints the same bytes as a server serves", () => {
  test("of the public API, at the address of the listener", async () => {
    const { publicUrl } = server;
    const { code, stdout, stderr } = await onair(["--port", new URL(publicUrl).port]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout === (await served(publicUrl))).toBe(true);
    expect(serversOf(stdout)).toEqual([{ url: publicUrl }]);
  });

  test("of the public API, at its public URL", async () => {
    const other = await startServer({ args: ["--public-url", "https://api.example.com/x/"] });
    const expected = await served(other.publicUrl);
    await other.stop();
    const asked = await onair(["--public-url", "https://api.example.com/x/"]);
    const set = await onair([], { ONAIR_PUBLIC_URL: "https://api.example.com/x", ONAIR_PORT: "0" });
    expect([asked.code, asked.stdout === expected, set.stdout === expected]).toEqual([0, true, true]);
    expect(serversOf(expected)).toEqual([{ url: "https://api.example.com/x" }]);
    expect(expected.includes(other.publicUrl)).toBe(false);
  });

  test.each(["public", "admin"])("of the %s API in OpenAPI 3.0", async (listener) => {
    const url = listener === "admin" ? server.adminUrl : server.publicUrl;
    const { port } = new URL(url);
    const of = listener === "admin" ? ["--admin", "--admin-port", port] : ["--port", port];
    const { code, stdout } = await onair([...of, "--openapi", "3.0"]);
    expect([code, stdout === (await (await fetch(`${url}/openapi-3.0.json`)).text())]).toEqual([0, true]);
  });

  test("of the admin API, whose URL is never the public URL", async () => {
    const { adminUrl } = server;
    const env = { ONAIR_PUBLIC_URL: "https://api.example.com" };
    const { code, stdout } = await onair(["--admin", "--admin-port", new URL(adminUrl).port], env);
    expect([code, stdout === (await served(adminUrl))]).toEqual([0, true]);
  });
});

test("unrelated settings have no effect, not even invalid ones", async () => {
  const { code, stdout } = await onair([], {
    ONAIR_DATA: "",
    ONAIR_RATE_LIMIT: "x",
    ONAIR_ADMIN_KEY: "short",
  });
  expect([code, serversOf(stdout)]).toEqual([0, [{ url: "http://127.0.0.1:8080" }]]);
  expect(serversOf((await onair(["--host", "[::1]", "--port", "9"])).stdout)).toEqual([
    { url: "http://[::1]:9" },
  ]);
});

test("replaces a file atomically", async () => {
  const file = join(directory, "openapi.json");
  writeFileSync(file, "x".repeat(10_000_000));
  const { code, stdout } = await onair(["--out", file]);
  expect([code, stdout]).toEqual([0, `${file} has the OpenAPI document of http://127.0.0.1:8080\n`]);
  expect(readFileSync(file, "utf8") === (await onair([])).stdout).toBe(true);
  expect(readdirSync(directory)).toEqual(["openapi.json"]);
});

test("the executable's command creates no data directory", async () => {
  const { code, stdout, stderr } = await run(["openapi", "--admin"], { cwd: directory });
  expect([code, stderr, serversOf(stdout)]).toEqual([0, "", [{ url: "http://127.0.0.1:8081" }]]);
  expect(existsSync(join(directory, "onair-data"))).toBe(false);
});

test.each<[string[], string]>([
  [["all"], '"all" is not expected here'],
  [["--admin", "--public-url", "https://x.example"], "--public-url is for the public document"],
  [["--public-url", "x"], "--public-url must be an http or https URL"],
  [["--port", "0"], "--port 0 picks a port when a server starts"],
  [["--admin", "--admin-port", "0"], "--admin-port 0"],
  [["--openapi", "2.0"], "--openapi must be one of 3.1, 3.0"],
  [["--out", "no/such/directory/x.json"], "There is no directory no/such/directory"],
])("wrong usage: %j", async (args, message) => {
  expectFailure(await onair(args), 2, message);
});
