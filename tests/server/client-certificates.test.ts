import { test as anyTest, describe, expect } from "bun:test";
import type { Finding } from "../../src/domain/findings.ts";
import { hasOpenssl, selfSigned } from "../support/certificates.ts";
import { program, run } from "../support/process.ts";
import { adminKey, testDirectory, testServer } from "../support/server.ts";

/*
 * Commands to an admin listener that accepts only clients with a certificate of its authority.
 */

const test = anyTest.skipIf(!hasOpenssl);
const directory = testDirectory();
const mine = selfSigned(directory, "mine");
const server = selfSigned(directory, "server");
const own = ["--client-cert", mine.cert, "--client-key", mine.key];
const ownVariables = { ONAIR_CLIENT_CERT: mine.cert, ONAIR_CLIENT_KEY: mine.key };
const listener = [
  ...["--admin-tls-cert", server.cert, "--admin-tls-key", server.key],
  ...["--admin-tls-client-ca", mine.cert],
];

const { app, data } = await testServer({ args: listener, isOnSqlite: true });
// The last variable makes Bun trust the server's certificate. Bun reads it once per process.
const ask = (words: readonly string[], more: Record<string, string> = {}) =>
  run(words, {
    command: program,
    env: { ONAIR_ADMIN_KEY: adminKey, NODE_EXTRA_CA_CERTS: server.cert, ...more },
  });

describe("onair apps", () => {
  const apps = (words: readonly string[], more: Record<string, string> = {}) =>
    ask(["apps", "list", "--url", app.adminUrl.replace("127.0.0.1", "localhost"), ...words], more);

  test.each<[string, string[], Record<string, string>]>([
    ["options", own, {}],
    ["variables", [], ownVariables],
  ])("presents the certificate given by %s", async (_, words, more) => {
    const { code, stderr } = await apps(words, more);
    expect([code, stderr]).toEqual([0, "There are no applications.\n"]);
  });

  test.each<[string, string[], 1 | 2, RegExp]>([
    ["none", [], 1, /cannot be reached: .*(require a client certificate|closed the connection)/],
    [
      "one of another authority",
      ["--client-cert", server.cert, "--client-key", server.key],
      1,
      /cannot be reached/,
    ],
    ["half of one", ["--client-cert", mine.cert], 2, /--client-cert and --client-key must be given together/],
    [
      "another key",
      ["--client-cert", mine.cert, "--client-key", server.key],
      2,
      /--client-key names .*, which is not the key of the first certificate/,
    ],
  ])("with %s is refused in a sentence", async (_, words, code, sentence) => {
    const result = await apps(words);
    expect([result.code, result.stdout]).toEqual([code, ""]);
    expect(result.stderr).toMatch(sentence);
    expect(result.stderr).not.toContain("PRIVATE");
  });
});

describe("onair doctor", () => {
  const doctor = async (words: readonly string[], more: Record<string, string> = {}) => {
    const { stdout } = await ask(["doctor", "--json", ...words], more);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect(stdout).not.toContain("PRIVATE");
    return (check: string) => findings.filter((one) => one.check === check);
  };

  test("asks the server of a given URL", async () => {
    for (const [words, more] of [
      [own, {}],
      [[], ownVariables],
    ] as const) {
      const of = await doctor(["--url", app.adminUrl, ...words], more);
      expect(of("server")).toMatchObject([{ status: "ok" }]);
      expect(of("operator_key")).toMatchObject([{ status: "ok" }]);
    }
    const without = await doctor(["--url", app.adminUrl]);
    expect(without("server")).toMatchObject([
      { status: "wrong", advice: expect.stringContaining("--client-cert") },
    ]);
    const half = await ask(["doctor", "--client-cert", mine.cert]);
    expect([half.code, half.stdout]).toEqual([2, ""]);
    expect(half.stderr).toContain("--client-cert and --client-key must be given together");
  });

  test("asks the server of its directory", async () => {
    const ports = ["--port", new URL(app.publicUrl).port, "--admin-port", new URL(app.adminUrl).port];
    const here = ["--data", data, ...ports, ...listener];
    expect((await doctor(here))("server")).toMatchObject([
      { status: "ok" },
      { status: "skipped", advice: expect.stringContaining("--client-cert") },
    ]);
    expect((await doctor([...here, ...own]))("server")).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });
});
