import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownListener } from "../support/listener.ts";
import { expectFailure, run } from "../support/process.ts";
import { testProfiles } from "../support/profiles.ts";

const { app, directory, env, file, login, onair, server, url } = await testProfiles();

describe("the profile of a command", () => {
  const listen = (args: string[], more: Record<string, string> = {}) =>
    run(["listen", ...args], { env: { ...env, ...more } });

  test.each<[string, string[], Record<string, string>, number, RegExp]>([
    ["nobody", [], {}, 2, /there are no credentials: sign in with/],
    ["an unknown profile", ["--profile", "x"], {}, 2, /There is no profile "x"/],
    ["a profile of the environment", [], { ONAIR_PROFILE: "x" }, 2, /There is no profile "x"/],
    ["two at once", ["--profile", "x", "--token", "y"], {}, 2, /exclude each other/],
    ["a token that is given", ["--token", "x", "--url", url], {}, 1, /answered 401: .* --token must hold/],
    ["a token", [], { ONAIR_TOKEN: "x", ONAIR_URL: url }, 1, /answered 401: .* ONAIR_TOKEN must hold/],
  ])("%s", async (_, args, more, code, message) => {
    const result = await listen(args, more);
    expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  test("a token in the environment overrides the default profile, and --profile overrides both", async () => {
    await login("--profile", "default");
    await login("--profile", "other");
    const wrong = { ONAIR_TOKEN: "x", ONAIR_URL: url };
    expect((await listen([], wrong)).stderr).toContain("answered 401");
    await onair("logout", "--profile", "default");
    const meant = await listen(["--profile", "othr"], wrong);
    expect(meant.stderr).toContain("Did you mean other?");
    const none = await listen([]);
    expect(none.stderr).toContain("or name a profile: other");
  });

  test("a profile's secret is not sent to another URL", async () => {
    await login();
    const asked: string[] = [];
    const elsewhere = ownListener(async (request) => {
      asked.push(await request.text());
      return new Response();
    });
    const { code, stderr } = await listen(["--url", elsewhere.url]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`The profile "default" is for ${url}`)]);
    // ONAIR_URL may name an admin listener for other commands.
    await login();
    await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { delivery: "webhook" });
    expect((await listen([], { ONAIR_URL: elsewhere.url })).stderr).toContain(`${url} answered 403`);
    expect(asked).toEqual([]);
  });

  test("the error about a damaged profile says how to replace it", async () => {
    await login();
    const whole = { url, clientId: app.client_id, clientSecret: "x" };
    const { clientSecret: _, ...withoutSecret } = whole;
    const damaged = [
      { ...whole, url: "nowhere" },
      { ...whole, url: "http://[" },
      { ...whole, clientSecret: 7 },
      { ...whole, session: "x" },
      { ...whole, scopes: "users:read" },
      withoutSecret,
      { ...withoutSecret, session: { accessToken: "x", expiresAt: 0 } },
    ];
    for (const text of ["", "{", "{}", "null", ...damaged.map((one) => JSON.stringify(one))]) {
      writeFileSync(file("default"), text, { mode: 0o600 });
      expectFailure(await listen([]), 1, "is damaged; to replace it: onair login --url URL --profile ");
    }
  });

  test("a directory at the path of a profile is reported", async () => {
    mkdirSync(file("folder"), { recursive: true });
    expectFailure(await listen(["--profile", "folder"]), 1, "folder.json is not a file");
    rmSync(file("folder"), { recursive: true });
  });

  test("a renewed token has only the scopes requested at login", async () => {
    await login("--scope", "users:read");
    await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
    // Changing the application requires all of its scopes.
    const { code, stderr } = await onair("app", "change", "--delivery", "both");
    expect([code, stderr]).toEqual([1, expect.stringContaining("answered 403")]);
  });

  test("a profile that others may read is refused", async () => {
    await login();
    chmodSync(file("default"), 0o644);
    const { code, stderr } = await listen([]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`chmod 600 ${file("default")}`)]);
  });

  test("the error about an invalid secret says how to sign in again", async () => {
    const mine = await server.application();
    writeFileSync(join(directory, "mine"), mine.client_secret);
    await login("--client-id", mine.client_id, "--secret-file", join(directory, "mine"));
    await server.admin("DELETE", `/admin/v1/applications/${mine.id}`);
    const { code, stderr } = await listen([]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Sign in again: onair login --url ${url}`)]);
    expect(stderr).not.toContain(mine.client_secret);
  });
});
