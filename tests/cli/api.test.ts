import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, run } from "../support/process.ts";
import { profileOf, testProfiles } from "../support/profiles.ts";
import { users } from "../support/real-data.ts";
import { adminKey, ownDirectory, testDirectory, testServer } from "../support/server.ts";

/** `onair api` and `onair token`: requests that no other command makes. */

const server = await testServer({ users });
const app = await server.application({ name: "Mine", webhook_url: "https://a.example/hook" });
const directory = testDirectory();
const own = profileOf(server, app, directory);
const operator = { ONAIR_ADMIN_URL: server.adminUrl, ONAIR_ADMIN_KEY: adminKey };
const api = (args: readonly string[], env: Record<string, string> = own) => run(["api", ...args], { env });

describe("onair api", () => {
  test.each<[string, string[], object]>([
    ["a path alone is read", ["/public/v1/users/xqcow"], { user: { username: "xqcow" }, message: "OK" }],
    [
      "fields of a GET are its query",
      ["GET", "/public/v1/users/search?limit=1", "--field", "query=xqc"],
      { data: [{ username: "xqcow" }] },
    ],
    [
      "fields of another method are its JSON body, with values as they are",
      [
        "post",
        "/public/v1/events/subscriptions",
        "--field",
        "broadcaster_user_id=1001",
        "--field",
        'events=[{"name": "channel.followed", "version": 1}]',
        "--field",
        "method=webhook",
      ],
      { data: [{ name: "channel.followed", subscription_id: expect.any(String) }] },
    ],
    [
      "a body is sent as it stands",
      ["PATCH", "/public/v1/application", "--body", '{"delivery": "both"}'],
      { data: { delivery: "both" } },
    ],
    [
      "a header is sent",
      ["POST", "/oauth/introspect", "--header", "content-type: text/plain", "--body", "{}"],
      { error: expect.any(String), code: "unsupported_media_type" },
    ],
  ])("%s", async (_, args, answer) => {
    const { stdout } = await api(args);
    expect(JSON.parse(stdout)).toMatchObject(answer);
  });

  test("an error answer is printed, explained, and ends with 1", async () => {
    const { code, stdout, stderr } = await api(["/public/v1/users/search"]);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ code: "invalid_parameter" })]);
    expect(stderr).toContain(`${server.publicUrl} answered 400: `);
  });

  test("--include prints status and headers", async () => {
    const { stdout } = await api(["/public/v1/users/xqcow", "--include"]);
    expect(stdout).toMatch(/^200 OK\n(.+\n)*x-request-id: \S+\n(.+\n)*\n\{/);
    expect(stdout).not.toContain(app.client_secret);
  });

  test("a path of the admin API uses the operator key, also with a body from a file", async () => {
    const file = join(directory, "app.json");
    writeFileSync(file, '{"name": "From a file"}');
    const { code, stdout } = await api(["POST", "/admin/v1/applications", "--body", `@${file}`], operator);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ name: "From a file" })]);
    expectFailure(await api(["/admin/v1/applications"], own), 2, "There is no data in");
    const wrong = await api(["/admin/v1/nothing"], operator);
    expect([wrong.code, JSON.parse(wrong.stdout)]).toEqual([
      1,
      expect.objectContaining({ code: "not_found" }),
    ]);
    expect(wrong.stderr).toContain(`All paths are at ${server.adminUrl}/docs/api`);
  });

  test.each<[string[], string]>([
    [[], "The path, like /public/v1/categories, is missing"],
    [["FETCH", "/x"], 'The method must be one of GET, HEAD, POST, PUT, PATCH, DELETE, not "FETCH"'],
    [["public/v1/x"], "The path must begin with a slash"],
    [["https://elsewhere.example/x"], "The path must begin with a slash"],
    [["/x", "--field", "y"], '--field must be NAME=VALUE, not "y"'],
    [["POST", "/x", "--field", "y=1", "--field", "y=2"], "--field y is given more than once"],
    [["POST", "/x", "--field", "y=1", "--body", "z"], "--body and --field exclude each other"],
    [["/x", "--body", "z"], "--body needs another method than GET"],
    [["POST", "/x", "--body", "@nowhere"], "There is no file nowhere"],
    [["/x", "--header", "Authorization: Bearer y"], "the command adds the token or key"],
    [["/admin/v1/x", "--token", "y"], "--token is not for the admin API"],
    [["/public/v1/x", "--data", "y"], "--data is not for the public API"],
  ])("%j is wrong usage", async (args, message) => expectFailure(await api(args), 2, message));
});

describe("the variables of addresses", () => {
  const list = (env: Record<string, string>) =>
    run(["apps", "list", "--json"], { env: { ONAIR_ADMIN_KEY: adminKey, ...env }, cwd: ownDirectory() });

  test.each<[string, Record<string, string>]>([
    [
      "ONAIR_ADMIN_URL names the admin listener beside ONAIR_URL",
      { ONAIR_URL: server.publicUrl, ...operator },
    ],
    ["ONAIR_URL alone is understood", { ONAIR_URL: server.adminUrl }],
    [
      "a token leaves ONAIR_ADMIN_URL as it is",
      { ...operator, ONAIR_TOKEN: "x", ONAIR_URL: server.publicUrl },
    ],
  ])("%s", async (_, env) => {
    expect((await list(env)).stdout).toContain('"Mine"');
  });

  test("with a token, ONAIR_URL is refused as the admin listener", async () => {
    const env = { ONAIR_URL: server.adminUrl, ONAIR_TOKEN: "x" };
    expectFailure(await list(env), 2, "name the admin listener in ONAIR_ADMIN_URL");
  });
});

describe("onair token", async () => {
  const { onair, login, read, works, file } = await testProfiles();

  test("prints the stored token and nothing else, and a new one when that has expired or --renew asks", async () => {
    await login();
    const stored = read("default").session;
    const first = await onair("token");
    expect(first).toEqual({ code: 0, stdout: `${stored.accessToken}\n`, stderr: "" });
    const renewed = (await onair("token", "--renew")).stdout.trim();
    expect([renewed === stored.accessToken, await works(renewed)]).toEqual([false, true]);
    expect(read("default").session.accessToken).toBe(renewed);
    const profile = { ...read("default"), session: { ...stored, expiresAt: Date.now() } };
    writeFileSync(file("default"), JSON.stringify(profile));
    const fresh = (await onair("token")).stdout.trim();
    expect([fresh === stored.accessToken, await works(fresh)]).toEqual([false, true]);
  });

  test("without a profile it fails, and prints nothing", async () => {
    expectFailure(await onair("token"), 2, "there are no credentials");
    expectFailure(await onair("token", "--profile", "x"), 2, 'There is no profile "x"');
  });
});
