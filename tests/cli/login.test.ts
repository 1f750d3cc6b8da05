import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterTests } from "../support/after-tests.ts";
import { accept, Browser, challengeFor, loginUrl } from "../support/oauth.ts";
import { unusedPort } from "../support/ports.ts";
import { program, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { onTerminal, RunningCommand } from "../support/running-command.ts";
import { json, testDirectory, testServer } from "../support/server.ts";

const server = await testServer({ args: ["--login-url", loginUrl] });
await server.load("users", users);
const app = await server.application({ delivery: "stream" });
const url = server.app.publicUrl;
const directory = testDirectory();
const profiles = join(directory, "onair", "profiles");
const file = (name: string) => join(profiles, `${name}.json`);
const secretFile = join(directory, "secret");
writeFileSync(secretFile, `${app.client_secret}\n`);
const env = { XDG_CONFIG_HOME: directory };

/** A server that is not On Air's, and refuses everything. */
const foreign = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(null, { status: 401 }),
});
afterTests(() => foreign.stop(true));

const onair = (...args: string[]) => run(args, { env });
const login = (...args: string[]) =>
  onair("login", "--url", url, "--client-id", app.client_id, "--secret-file", secretFile, ...args);
const read = (name: string) =>
  JSON.parse(readFileSync(file(name), "utf8")) as {
    session: { accessToken: string; expiresAt: number; refreshToken?: string };
  };
const works = async (token: string) =>
  (await server.get("/public/v1/events/subscriptions", token)).status === 200;

afterEach(() => rmSync(profiles, { recursive: true, force: true }));

describe("onair login with client id and secret", () => {
  test("keeps a profile that only its owner may read, with a token that works", async () => {
    const { code, stdout, stderr } = await login();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`the profile "default" in ${file("default")}`);
    expect(stdout).not.toContain(app.client_secret);
    expect(statSync(file("default")).mode & 0o777).toBe(0o600);
    expect(statSync(profiles).mode & 0o777).toBe(0o700);
    expect(readdirSync(profiles)).toEqual(["default.json"]);
    expect(await works(read("default").session.accessToken)).toBe(true);
  });

  test("--profile keeps several; logout removes one and ends its tokens", async () => {
    await login("--profile", "one");
    await login("--profile", "two");
    const { accessToken } = read("one").session;
    const out = await onair("logout", "--profile", "one");
    expect([out.code, out.stdout, out.stderr]).toEqual([0, 'The profile "one" is removed.\n', ""]);
    expect(readdirSync(profiles)).toEqual(["two.json"]);
    expect(await works(accessToken)).toBe(false);
    expect(await works(read("two").session.accessToken)).toBe(true);
    expect((await onair("logout", "--all")).stdout).toBe('The profile "two" is removed.\n');
  });

  test("logging in again replaces a profile", async () => {
    await login();
    const first = read("default").session.accessToken;
    await login();
    expect(read("default").session.accessToken).not.toBe(first);
  });

  test("the secret comes from standard input, too", async () => {
    const args = ["login", "--url", url, "--client-id", app.client_id, "--secret-file", "-"];
    const reading = new RunningCommand(args, { env });
    reading.write(app.client_secret);
    expect((await reading.ended()).code).toBe(0);
    expect(existsSync(file("default"))).toBe(true);
  });

  test("the secret comes from a pipe that has a name, as bash makes it, too", async () => {
    const pipe = join(directory, "pipe");
    Bun.spawnSync(["mkfifo", pipe]);
    const writing = Bun.spawn(["sh", "-c", 'cat "$1" > "$2"', "sh", secretFile, pipe]);
    try {
      const { code, stderr } = await onair(
        "login",
        "--url",
        url,
        "--client-id",
        app.client_id,
        "--secret-file",
        pipe,
      );
      expect([code, stderr]).toEqual([0, ""]);
      expect(await works(read("default").session.accessToken)).toBe(true);
    } finally {
      writing.kill();
      await writing.exited;
    }
  });

  test("is asked for on a terminal, and the secret is not shown", async () => {
    const command = onTerminal([...program, "login", "--url", url].join(" "));
    const asking = new RunningCommand([], { command, env: { TERM: "xterm", ...env } });
    await asking.shows("Client id: ");
    asking.write(`${app.client_id}\n`);
    await asking.shows("Client secret (not shown): ");
    asking.write(`x\x7f${app.client_secret}\r`);
    await asking.shows("is kept as the profile");
    expect((await asking.ended()).stdout).not.toContain(app.client_secret);
    expect(await works(read("default").session.accessToken)).toBe(true);
  });

  test.each<[string, string[], number, RegExp]>([
    [
      "a wrong secret",
      ["--secret-file", join(import.meta.dir, "login.test.ts")],
      2,
      /has more than 4096 bytes/,
    ],
    ["no URL", ["--url", "here"], 2, /--url must be an http URL, not "here"/],
    ["no such file", ["--secret-file", "nowhere"], 2, /nowhere is not there/],
    ["a directory", ["--secret-file", directory], 2, /is a directory/],
    ["a device without an end", ["--secret-file", "/dev/zero"], 2, /\/dev\/zero has more than 4096 bytes/],
    ["a name that leads elsewhere", ["--profile", "../x"], 2, /cannot be the name of a profile/],
    ["a port without a browser", ["--port", "1"], 2, /--port is for --browser/],
    ["an unknown application", ["--client-id", "x"], 1, /answered 401: .* Look at the client id/],
    ["the admin listener", ["--url", server.app.adminUrl], 1, /The URL must be that of the public listener/],
    ["a server of another program", ["--url", foreign.url.origin], 1, /401: that is not .* The URL must be/],
    ["nobody there", ["--url", "http://127.0.0.1:1"], 1, /nothing listens there/],
    ["a mistyped option", ["--brwoser"], 2, /Did you mean --browser\?/],
  ])("%s is refused, and nothing is kept", async (_, args, code, message) => {
    const result = await login(...args);
    expect([result.code, result.stdout, result.stderr]).toEqual([code, "", expect.stringMatching(message)]);
    expect(existsSync(file("default"))).toBe(false);
  });

  test("a secret that would go unencrypted over the network is worth a word", async () => {
    const { stderr } = await login("--url", "http://no.such.host.invalid");
    expect(stderr).toContain("is not encrypted: others on the way can read the secret");
    expect((await login()).stderr).toBe("");
  });

  test("without a terminal everything has to be said", async () => {
    const { code, stderr } = await onair("login");
    expect(code).toBe(2);
    for (const word of ["--url", "--client-id", "--secret-file"])
      expect(stderr).toContain(`${word} is missing`);
    expect(stderr).toContain('"-" reads standard input');
    expect(stderr).toContain("without a terminal nothing can be asked for");
  });
});

describe("onair login --browser", () => {
  /** Signs in as a browser would, from the address that the command shows. */
  const signIn = async (decide: (address: string) => Promise<string>, ...args: string[]) => {
    const signing = new RunningCommand(["login", "--url", url, "--browser", ...args], {
      env: { BROWSER: "true", ...env },
    });
    const [address = ""] = /https?:\S+/.exec(await signing.shows(/https?:\S+\n\n/)) ?? [];
    const page = await fetch(await decide(address));
    return { ...(await signing.ended()), page: { status: page.status, text: await page.text() } };
  };
  const allow = async (address: string) => {
    const browser = new Browser(server);
    const back = await accept(server, await challengeFor(browser, address), { user_id: 1001 });
    return (await browser.open(back)).location;
  };

  test("a public client gets a user's tokens, which are renewed when they have expired", async () => {
    const registered = { client_type: "public", redirect_uris: ["http://127.0.0.1/callback"] };
    const mine = await server.application(registered);
    const { code, page } = await signIn(allow, "--client-id", mine.client_id);
    expect([code, page.status, page.text]).toEqual([0, 200, expect.stringContaining("Signed in")]);
    const before = read("default");
    expect(before.session.refreshToken).toBeDefined();
    expect(await works(before.session.accessToken)).toBe(true);
    const expired = { ...before, session: { ...before.session, expiresAt: Date.now() - 1 } };
    writeFileSync(file("default"), JSON.stringify(expired), { mode: 0o600 });
    // It is refused for its delivery, but after the token was renewed and accepted.
    expect((await onair("listen")).stderr).toContain("answered 403");
    const { session } = read("default");
    expect(session.refreshToken).not.toBe(before.session.refreshToken);
    expect(session.expiresAt).toBeGreaterThan(Date.now());
    expect(await works(session.accessToken)).toBe(true);
    expect(statSync(file("default")).mode & 0o777).toBe(0o600);
    expect((await onair("logout")).code).toBe(0);
    expect(await works(session.accessToken)).toBe(false);
  });

  test("a client with a secret has a redirect URI with a port", async () => {
    const port = await unusedPort();
    const mine = await server.application({ redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    writeFileSync(join(directory, "mine"), mine.client_secret);
    const args = [
      "--client-id",
      mine.client_id,
      "--port",
      String(port),
      "--secret-file",
      join(directory, "mine"),
    ];
    expect((await signIn(allow, ...args)).code).toBe(0);
    expect(read("default").session.refreshToken).toBeDefined();
  });

  test("who denies, and what does not belong to it, signs nobody in", async () => {
    const registered = { client_type: "public", redirect_uris: ["http://127.0.0.1/callback"] };
    const mine = await server.application(registered);
    let forged = 0;
    const deny = async (address: string) => {
      const browser = new Browser(server);
      const callback = new URL(address).searchParams.get("redirect_uri") ?? "";
      forged = (await fetch(`${callback}?code=x&state=forged&iss=${encodeURIComponent(url)}`)).status;
      const challenge = await challengeFor(browser, address);
      const answer = await server.admin("PUT", `/admin/v1/login-requests/${challenge}/reject`, {
        error_description: "No thanks",
      });
      return (await browser.open((await json<{ redirect_to: string }>(answer)).redirect_to)).location;
    };
    const { code, stderr, page } = await signIn(deny, "--client-id", mine.client_id);
    expect([code, page.status, forged]).toEqual([1, 400, 400]);
    expect(stderr).toContain("The sign-in was refused: No thanks");
    expect(existsSync(file("default"))).toBe(false);
  });

  test("a platform without a login page says so", async () => {
    const other = await testServer();
    const result = await run(["login", "--url", other.app.publicUrl, "--browser", "--client-id", "x"], {
      env,
    });
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("has no login page")]);
  });

  test.each(["file:///usr/bin/evil", "--evil", "javascript:evil()", 7])(
    "a login page that is none is neither shown nor opened: %j",
    async (authorization_endpoint) => {
      const opened = join(directory, "opened");
      const browser = join(directory, "browser");
      writeFileSync(browser, `#!/bin/sh\necho "$@" > ${opened}\n`, { mode: 0o755 });
      const platform = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: () => Response.json({ issuer: "x", authorization_endpoint }),
      });
      afterTests(() => platform.stop(true));
      const args = ["login", "--url", platform.url.origin, "--browser", "--client-id", "x"];
      const result = await run(args, { env: { ...env, BROWSER: browser } });
      expect([result.code, result.stderr]).toEqual([
        1,
        expect.stringContaining("names no page to sign in at"),
      ]);
      expect(result.stderr + result.stdout).not.toContain("evil");
      expect(existsSync(opened)).toBe(false);
    },
  );
});

describe("who a command is", () => {
  const listen = (args: string[], more: Record<string, string> = {}) =>
    run(["listen", ...args], { env: { ...env, ...more } });

  test.each<[string, string[], Record<string, string>, number, RegExp]>([
    ["nobody", [], {}, 2, /nothing says who you are: make a profile/],
    ["an unknown profile", ["--profile", "x"], {}, 2, /there is no profile "x"/],
    ["a profile of the environment", [], { ONAIR_PROFILE: "x" }, 2, /there is no profile "x"/],
    ["two at once", ["--profile", "x", "--token", "y"], {}, 2, /exclude each other/],
    ["a token", [], { ONAIR_TOKEN: "x", ONAIR_URL: url }, 1, /answered 401: .* ONAIR_TOKEN must hold/],
  ])("%s", async (_, args, more, code, message) => {
    const result = await listen(args, more);
    expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  test("a token of the environment wins over the default profile, --profile over that", async () => {
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

  test("the secret of a profile goes to no other URL", async () => {
    await login();
    const asked: string[] = [];
    const elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        asked.push(await request.text());
        return new Response();
      },
    });
    const { code, stderr } = await listen(["--url", elsewhere.url.origin]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`the profile "default" is for ${url}`)]);
    // Where ONAIR_URL names an admin listener for other commands.
    await login();
    await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`);
    await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { delivery: "webhook" });
    expect((await listen([], { ONAIR_URL: elsewhere.url.origin })).stderr).toContain(`${url} answered 403`);
    expect(asked).toEqual([]);
    await elsewhere.stop(true);
  });

  test("a damaged profile says how to make it anew", async () => {
    await login();
    for (const text of ["", "{", "{}", "null"]) {
      writeFileSync(file("default"), text, { mode: 0o600 });
      const { code, stderr } = await listen([]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining("is damaged: onair login --url URL --profile "),
      ]);
    }
  });

  test("a profile that others may read is refused", async () => {
    await login();
    chmodSync(file("default"), 0o644);
    const { code, stderr } = await listen([]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`chmod 600 ${file("default")}`)]);
  });

  test("a secret that is no longer good says how to sign in again", async () => {
    const mine = await server.application();
    writeFileSync(join(directory, "mine"), mine.client_secret);
    await login("--client-id", mine.client_id, "--secret-file", join(directory, "mine"));
    await server.admin("DELETE", `/admin/v1/applications/${mine.id}`);
    const { code, stderr } = await listen([]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`"onair login --url ${url}" signs in again`)]);
    expect(stderr).not.toContain(mine.client_secret);
  });
});
