import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { didYouMeanType } from "../../src/cli/calls/names.ts";
import { builtInEventNames } from "../../src/domain/events/built-in.ts";
import { ownListener } from "../support/listener.ts";
import { expectFailure, program, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { adminKey, testDirectory, testServer } from "../support/server.ts";

/*
 * Every command reports errors in its own sentences, never with raw messages of the system, Bun or the API.
 */

const directory = testDirectory();
const path = (name: string) => join(directory, name);
const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true" };
const raw = /\bE[A-Z]{3,}\b|fetch\(|epoll|ambiguous|verbose|\.partial|errno|syscall| {4}at /;

const server = await testServer();
const url = server.adminUrl;
await server.load("users", users);
mkdirSync(path("sub"));
writeFileSync(path("file"), "");
await Bun.$`mkfifo ${path("pipe")}`;

describe("files and options", () => {
  test.each<[string[], number, string]>([
    [["export", "users", "nowhere/x"], 2, "There is no directory nowhere"],
    [["export", "users", "file/x"], 2, "There is no directory file"],
    [["export", "users", "sub"], 2, "sub is a directory"],
    [["export", "users", "sub", "--force"], 2, "sub is a directory"],
    [
      ["export", "users", "pipe", "--force"],
      2,
      'pipe is not a regular file; name another, or "-" for standard output',
    ],
    [["backup", "pipe", "--force"], 2, "pipe is not a regular file"],
    [["backup", "file"], 2, "file exists already; --force replaces it"],
    [["openapi", "--out", "pipe"], 2, "pipe is not a regular file"],
    [["openapi", "--out", "sub"], 2, "sub is a directory"],
    [["import", "users", "sub"], 2, "sub is a directory"],
    [["import", "users", "nowhere.ndjson"], 2, "There is no file nowhere.ndjson"],
    [
      ["import", "usres", "file"],
      2,
      'The kind must be one of users, categories, channels, livestreams, not "usres". Did you mean users?',
    ],
    [["apps", "lsit"], 2, 'not "lsit". Did you mean list?'],
    [
      ["events", "types", "channel.folowed"],
      2,
      "There is no event type channel.folowed. Did you mean channel.followed?",
    ],
    [["trigger", "channel.folowed"], 2, "Did you mean channel.followed?"],
    [["trigger", "stream.online"], 2, "Did you mean livestream.status.updated?"],
    [["events", "types", "channel.cheer"], 2, "Did you mean kicks.gifted?"],
    [["trigger", "channel.followed", "--count", "3", "--forward", "localhost:1"], 2, "needs --once"],
    [["trigger", "channel.followed", "--count", "10001"], 2, "--count must be at most 10,000"],
    [["apps", "create", "--name", "--public"], 2, "--name needs a value, and --public looks like an option"],
    [["apps", "create", "--nmae", "x"], 2, "--nmae is not a known option. Did you mean --name?"],
    [
      ["apps", "create", "--name", "x", "--rate-limit", "many"],
      2,
      '--rate-limit must be a number, not "many"',
    ],
    [["deliveries", "list", "--limit", "0"], 2, '--limit must be a number, at least 1, not "0"'],
    [["deliveries", "list", "--limit", "5", "--all"], 2, "--limit and --all exclude each other"],
    [["deliveries", "list", "--status", "lost"], 2, "--status must be one of"],
    [["deliveries", "list", "--after", "noon"], 1, "--after must be"],
    [["deliveries", "list", "--application", "x"], 1, 'There is no application "x"'],
    [["deliveries", "list", "--cursor", "x"], 1, "--cursor is not a cursor of this server"],
    [["apps", "show", "My bot"], 1, 'There is no application "My bot". "onair apps list" lists all.'],
    [["apps", "list", "--cursor", "x"], 1, "--cursor is not a cursor of this server"],
    [["apps", "create", "--name", "x", "--scope", "all"], 1, "--scope may hold"],
    [["apps", "create", "--name", "x", "--redirect-uri", "x"], 1, "--redirect-uri"],
    [
      ["apps", "create", "--name", "x", "--webhook-url", "x"],
      1,
      "--webhook-url: This is not a valid http or https URL.",
    ],
    [["apps", "create", "--name", "x", "--delivery", "post"], 2, "--delivery must be"],
    [["apps", "create", "--name", "x", "--rate-limit", "99999999"], 1, "--rate-limit must be"],
    [
      ["apps", "rotate-client-secret", "01KEYN2Q9GZ4T7RFDX6M8V3BHC", "--overlap", "90d"],
      1,
      "--overlap must be from 0s to 30d",
    ],
    [
      ["tokens", "create", "01KEYN2Q9GZ4T7RFDX6M8V3BHC", "--expires-in", "90d"],
      1,
      "--expires-in must be from 1s to 60d",
    ],
    [
      ["admin-key", "create", "--name", "x", "--role", "reader", "--expires-in", "9999d"],
      1,
      "--expires-in must be from 1s to 3660d",
    ],
    [
      ["deliveries", "list", "--after", "2026-02-01T00:00:00Z", "--before", "2026-01-01T00:00:00Z"],
      1,
      "--before must be later than --after",
    ],
    [["events", "publish", "file", "--idempotency-key", "a b"], 1, "--idempotency-key must be"],
    [["trigger", "channel.followed", "--set", "x=1"], 1, "--set x is not a field"],
  ])("%j", async (args, code, message) => {
    const result = await run(args, { env: { ...env, ONAIR_URL: url }, cwd: directory });
    expect([result.code, result.stdout]).toEqual([code, ""]);
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toMatch(raw);
    expect(result.stderr).not.toMatch(/application_id|redirect_uris|rate_limit|webhook_url|scopes/);
    expect(lstatSync(path("pipe")).isFIFO()).toBe(true);
  });

  test("a change with one invalid option reports only that mistake", async () => {
    const result = await run(["apps", "change", "x", "--rate-limit", "many"], { env, cwd: directory });
    expect(result.code).toBe(2);
    expect(result.stderr.split("\n\n")[0]).toBe('--rate-limit must be a number, not "many"');
  });

  test("a directory without write permission", async () => {
    const closed = path("closed");
    mkdirSync(closed, { recursive: true });
    chmodSync(closed, 0o500);
    const target = process.getuid?.() === 0 ? "/proc/onair.ndjson" : join(closed, "x");
    const result = await run(["export", "users", target, "--url", url], { env });
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toMatch(/may not|no such file/);
    expect(result.stderr).not.toMatch(/\bE[A-Z]{3,}\b/);
  });
});

describe("servers", () => {
  test.each<[string, (socket: import("node:net").Socket) => void, string]>([
    [
      "closes at once, as one with TLS does",
      (socket) => socket.destroy(),
      "the other end closed the connection: it may be https and not http",
    ],
    [
      "breaks off within its answer",
      (socket) => socket.end("HTTP/1.1 200 OK\r\nx-request-id: a\r\ncontent-length: 100\r\n\r\n{"),
      "broke off",
    ],
    [
      "is something else",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"),
      "is not the admin listener of an On Air server",
    ],
    [
      "leads elsewhere",
      (socket) =>
        socket.end(
          "HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        ),
      "it redirects to http://evil.example/",
    ],
    [
      "shows a page",
      (socket) =>
        socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 13\r\nconnection: close\r\n\r\n<html></html>"),
      "this is not an answer of On Air. --url must name the admin listener.",
    ],
  ])("one that %s", async (_, answer, message) => {
    const other = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => answer(socket));
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    for (const command of [
      ["apps", "list"],
      ["export", "users"],
      ["tokens", "list", "x"],
    ]) {
      const result = await run([...command, "--url", `http://127.0.0.1:${port}`], { env });
      expect([command, result.code]).toEqual([command, 1]);
      expect(result.stderr).toContain(message);
      expect(result.stderr).not.toMatch(raw);
    }
    other.close();
  });

  test.each([
    ["http://127.0.0.1:1", "nothing listens there. Is the server running?"],
    ["http://no.such.host.invalid", "there is no host with this name"],
  ])("%s cannot be reached", async (address, message) => {
    for (const command of [["apps", "list"], ["import", "users", path("file")], ["backup"]]) {
      const result = await run([...command, "--url", address], { env });
      expect([result.code, result.stderr]).toEqual([1, `onair: ${address} cannot be reached: ${message}\n`]);
    }
    const listened = await run(["listen", "--url", address, "--token", "x"]);
    expect([listened.code, listened.stderr]).toEqual([
      1,
      `onair: ${address} cannot be reached: ${message}\n`,
    ]);
  });

  test("TLS to a listener without TLS", async () => {
    const result = await run(["apps", "list", "--url", url.replace("http:", "https:")], { env });
    expect(result.stderr).toContain("the TLS handshake failed: the server may use http instead of https");
  });

  test.each(["--port", "--admin-port"])("a port of %s that is taken", async (option) => {
    const { port } = new URL(url);
    const ports = { "--port": "0", "--admin-port": "0", [option]: port };
    expectFailure(
      await run(["serve", "--data", path("taken"), ...Object.entries(ports).flat()]),
      1,
      `onair: 127.0.0.1, port ${port}: another program uses this port; stop it, or choose another port with ${option}\n`,
    );
    expect(existsSync(path("taken/onair.admin-key"))).toBe(false);
  });

  test("both ports that are taken, at once", async () => {
    const [taken, other] = [new URL(url).port, new URL(ownListener(() => new Response()).url).port];
    const args = ["serve", "--data", path("both-taken"), "--port", taken, "--admin-port", other];
    const sentence = (port: string, option: string) =>
      `127.0.0.1, port ${port}: another program uses this port; stop it, or choose another port with ${option}\n`;
    expectFailure(
      await run(args),
      1,
      `onair: ${sentence(taken, "--port")}${sentence(other, "--admin-port")}`,
    );
  });
});

describe("devices and pipes", () => {
  test.each(["import users", "events publish"])("%s treats /dev/null as an empty file", async (command) => {
    for (const to of [
      ["--url", url],
      ["--data", path("empty")],
    ]) {
      if (to[0] === "--data" && !existsSync(path("empty"))) {
        await run(["import", "users", path("file"), ...to], { env });
      }
      const { code, stdout, stderr } = await run([...command.split(" "), "/dev/null", ...to], { env });
      const noted =
        command === "import users" ? "There are no lines in /dev/null. Nothing was imported.\n" : "";
      expect([code, stderr]).toEqual([0, noted]);
      expect(stdout).toStartWith("0 accepted, 0 rejected");
    }
  });

  test("a closed pipe ends the command without an error", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ id: 5_000_000 + i, username: `piped_${i}` }));
    await server.load("users", rows);
    const line = `"$@" | head -n 1 | cut -c 1-8; echo "\${PIPESTATUS[0]}"`;
    const command = ["bash", "-c", line, "bash", ...program];
    const { stdout, stderr } = await run(["export", "users", "--url", url], { command, env });
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^\{"id":\d+\n141\n$/), ""]);
  });
});

test("every name of Twitch in docs/from-twitch.md leads to the type beside it", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/from-twitch.md")).text();
  const rows = [...page.matchAll(/^\| (`[a-z_.]+`(?:, `\.?[a-z_.]+`)*) \| `([a-z.]+)`/gm)].filter(
    ([, , type = ""]) => builtInEventNames.includes(type),
  );
  const pairs = rows.flatMap(([, names = "", type = ""]) => {
    const [first = "", ...others] = [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    // `.update` stands for the name before it with another end.
    const all = others.map((name) => (name.startsWith(".") ? first.replace(/\.[a-z]+$/, name) : name));
    return [first, ...all].map((name) => [name, type]);
  });
  expect(pairs.length).toBeGreaterThan(10);
  for (const [name = "", type] of pairs)
    expect(didYouMeanType(name, builtInEventNames)).toBe(` Did you mean ${type}?`);
});
