import { describe, expect, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownListener } from "../support/listener.ts";
import { accept, Browser, challengeFor } from "../support/oauth.ts";
import { unusedPort } from "../support/ports.ts";
import { RunningCommand, run } from "../support/process.ts";
import { testProfiles } from "../support/profiles.ts";
import { json, ownServer } from "../support/server.ts";

const { directory, env, file, onair, read, server, url, works } = await testProfiles();

describe("onair login --browser", () => {
  /** Signs in like a browser, at the URL that the command prints. */
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
    const { code, page, stdout } = await signIn(allow, "--client-id", mine.client_id);
    expect(stdout).toContain(`Signed in to ${url} as xqcow (xQcOW, id 1001), a user of ${mine.client_id}.`);
    expect([code, page.status, page.text]).toEqual([0, 200, expect.stringContaining("Signed in")]);
    const before = read("default");
    expect(before.session.refreshToken).toBeDefined();
    expect(await works(before.session.accessToken)).toBe(true);
    const expired = { ...before, session: { ...before.session, expiresAt: Date.now() - 1 } };
    writeFileSync(file("default"), JSON.stringify(expired), { mode: 0o600 });
    // The unknown delivery is refused, but only after the token was renewed and accepted.
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
    const { code, stdout } = await signIn(allow, ...args, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        profile: "default",
        url,
        client_id: mine.client_id,
        user: { id: 1001, username: "xqcow", display_name: "xQcOW" },
        file: file("default"),
      },
    ]);
    expect(read("default").session.refreshToken).toBeDefined();
  });

  test("a user's denial and requests with a foreign state sign nobody in", async () => {
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
    const other = await ownServer();
    const result = await run(["login", "--url", other.publicUrl, "--browser", "--client-id", "x"], {
      env,
    });
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("has no login page")]);
  });

  test.each<[string, () => Response, string]>([
    ["an error", () => new Response(null, { status: 503 }), "answered 503"],
    ["something else", () => Response.json({ sub: 7 }), "is not valid"],
  ])(
    "a profile is stored, too, if the platform answers who signed in with %s",
    async (_, whoSignedIn, why) => {
      const tokens = { access_token: "onair_at_x", expires_in: 7200, refresh_token: "onair_rt_x" };
      const platform = ownListener((request) => {
        const { origin, pathname } = new URL(request.url);
        if (pathname === "/oauth/token") return Response.json(tokens);
        if (pathname === "/oauth/userinfo") return whoSignedIn();
        return Response.json({ issuer: origin, authorization_endpoint: `${origin}/oauth/authorize` });
      });
      const args = ["login", "--url", platform.url, "--browser", "--client-id", "x"];
      const signing = new RunningCommand(args, { env: { BROWSER: "true", ...env } });
      const [address = ""] = /https?:\S+/.exec(await signing.shows(/https?:\S+\n\n/)) ?? [];
      const { searchParams } = new URL(address);
      const query = new URLSearchParams({
        code: "c",
        state: searchParams.get("state") ?? "",
        iss: platform.url,
      });
      await fetch(`${searchParams.get("redirect_uri")}?${query}`);
      const { code, stdout, stderr } = await signing.ended();
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining(`Signed in to ${platform.url} as a user of x.`),
      ]);
      expect(stderr).toContain(`It is not known who signed in: `);
      expect(stderr).toContain(why);
      expect(read("default").session.accessToken).toBe("onair_at_x");
    },
  );

  test("a platform that impersonates another one receives no code of that one", async () => {
    const opened = join(directory, "posed");
    const browser = join(directory, "posed-browser");
    writeFileSync(browser, `#!/bin/sh\necho "$@" > ${opened}\n`, { mode: 0o755 });
    const asked: string[] = [];
    const platform = ownListener((request) => {
      asked.push(new URL(request.url).pathname);
      return Response.json({ issuer: url, authorization_endpoint: `${url}/oauth/authorize` });
    });
    const args = ["login", "--url", platform.url, "--browser", "--client-id", "x"];
    const result = await run(args, { env: { ...env, BROWSER: browser } });
    expect([result.code, result.stderr]).toEqual([
      1,
      expect.stringContaining(`is ${url}: if you trust that, give it as --url`),
    ]);
    expect([asked, existsSync(opened)]).toEqual([["/.well-known/oauth-authorization-server"], false]);
  });

  test.each(["file:///usr/bin/evil", "--evil", "javascript:evil()", 7])(
    "a login page that is not an HTTP URL is neither printed nor opened: %j",
    async (authorization_endpoint) => {
      const opened = join(directory, "opened");
      const browser = join(directory, "browser");
      writeFileSync(browser, `#!/bin/sh\necho "$@" > ${opened}\n`, { mode: 0o755 });
      const platform = ownListener(({ url }) =>
        Response.json({ issuer: new URL(url).origin, authorization_endpoint }),
      );
      const args = ["login", "--url", platform.url, "--browser", "--client-id", "x"];
      const result = await run(args, { env: { ...env, BROWSER: browser } });
      expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("has no valid sign-in page")]);
      expect(result.stderr + result.stdout).not.toContain("evil");
      expect(existsSync(opened)).toBe(false);
    },
  );
});
