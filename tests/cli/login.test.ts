import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { testListener } from "../support/listener.ts";
import { onTerminal, program, RunningCommand } from "../support/process.ts";
import { testProfiles } from "../support/profiles.ts";

const { app, directory, env, file, login, onair, profiles, read, secretFile, server, url, works } =
  await testProfiles();

/** A server of another program that refuses everything. */
const foreign = testListener(() => new Response(null, { status: 401 }));

describe("onair login with client id and secret", () => {
  test("stores a profile that only its owner may read, with a valid token", async () => {
    const { code, stdout, stderr } = await login();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`The profile "default" is stored in ${file("default")}`);
    expect(stdout).not.toContain(app.client_secret);
    expect(statSync(file("default")).mode & 0o777).toBe(0o600);
    expect(statSync(profiles).mode & 0o777).toBe(0o700);
    expect(readdirSync(profiles)).toEqual(["default.json"]);
    expect(await works(read("default").session.accessToken)).toBe(true);
  });

  test("--profile stores several; logout removes one and revokes its tokens", async () => {
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

  test("the secret may come from standard input", async () => {
    const args = ["login", "--url", url, "--client-id", app.client_id, "--secret-file", "-"];
    const reading = new RunningCommand(args, { env });
    reading.write(app.client_secret);
    expect((await reading.ended()).code).toBe(0);
    expect(existsSync(file("default"))).toBe(true);
  });

  test("the secret may come from a named pipe, like bash's process substitution", async () => {
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
    await asking.shows("Signed in to");
    expect((await asking.ended()).stdout).not.toContain(app.client_secret);
    expect(await works(read("default").session.accessToken)).toBe(true);
  });

  test.each<[string, string, string, number]>([
    ["Ctrl-C in place of the id", "\x03", "", 130],
    ["no id", "\n", "", 2],
    ["Ctrl-C in place of the secret", `${app.client_id}\n`, "\x03", 130],
    ["no secret", `${app.client_id}\n`, "\r", 2],
  ])("%s stores nothing", async (_, id, secret, code) => {
    const command = onTerminal([...program, "login", "--url", url].join(" "));
    const asking = new RunningCommand([], { command, env: { TERM: "xterm", ...env } });
    await asking.shows("Client id: ");
    asking.write(id);
    if (secret !== "") {
      await asking.shows("Client secret (not shown): ");
      asking.write(secret);
    }
    const ended = await asking.ended();
    expect([ended.code, existsSync(file("default"))]).toEqual([code, false]);
    if (code === 2) expect(ended.stdout).toContain("nothing was typed");
  });

  test.each<[string, string[], number, RegExp]>([
    [
      "a wrong secret",
      ["--secret-file", join(import.meta.dir, "login.test.ts")],
      2,
      /has more than 4096 bytes/,
    ],
    ["no URL", ["--url", "here"], 2, /--url must be an http or https URL, not "here"/],
    ["no such file", ["--secret-file", "nowhere"], 2, /nowhere does not exist/],
    ["a directory", ["--secret-file", directory], 2, /is a directory/],
    ["a device without an end", ["--secret-file", "/dev/zero"], 2, /\/dev\/zero has more than 4096 bytes/],
    ["a name that leads elsewhere", ["--profile", "../x"], 2, /cannot be the name of a profile/],
    ["a port without a browser", ["--port", "1"], 2, /--port needs --browser/],
    ["an unknown application", ["--client-id", "x"], 1, /answered 401: .* Check the client id/],
    ["the admin listener", ["--url", server.adminUrl], 1, /The URL must be that of the public listener/],
    ["a server of another program", ["--url", foreign.url], 1, /401: this is not .* The URL must be/],
    ["nobody there", ["--url", "http://127.0.0.1:1"], 1, /nothing listens there/],
    ["a mistyped option", ["--brwoser"], 2, /Did you mean --browser\?/],
  ])("%s is refused, and nothing is stored", async (_, args, code, message) => {
    const result = await login(...args);
    expect([result.code, result.stdout, result.stderr]).toEqual([code, "", expect.stringMatching(message)]);
    expect(existsSync(file("default"))).toBe(false);
  });

  test("an unencrypted connection to another machine is warned about", async () => {
    const { stderr } = await login("--url", "http://no.such.host.invalid");
    expect(stderr).toContain("is not encrypted: others on the network can read the secret");
    expect((await login()).stderr).toBe("");
  });

  test("without a terminal, id and secret must be given", async () => {
    const { code, stderr } = await onair("login");
    expect(code).toBe(2);
    for (const word of ["--url", "--client-id", "--secret-file"])
      expect(stderr).toContain(`${word} is missing`);
    expect(stderr).toContain('"-" reads standard input');
    expect(stderr).toContain("there is no terminal to prompt for it");
  });
});
