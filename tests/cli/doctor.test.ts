import { describe, expect, test } from "bun:test";
import { chmodSync, cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../support/backups.ts";
import { endedServer, freePorts, ofCheck, statuses } from "../support/doctor.ts";
import { ownListener } from "../support/listener.ts";
import { expectFailure, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { adminKey, startServer, testServer } from "../support/server.ts";

const { path, copy, examined } = await endedServer();
const served = path("served");
const server = await testServer({ data: served, users });
const port = (url: string) => new URL(url).port;
const addresses = ["--port", port(server.publicUrl), "--admin-port", port(server.adminUrl)];

/** The files of a directory with everything that a change would alter. */
const traces = (data: string) =>
  readdirSync(data)
    .sort()
    .map((name) => [name, statSync(join(data, name)).mtimeMs, statSync(join(data, name)).mode]);

test("a directory without a server is healthy and not changed", async () => {
  const data = copy();
  const before = traces(data);
  const content = sha256(readFileSync(join(data, "onair.db")));
  const report = await examined(["--data", data, ...freePorts]);
  expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
  const checks =
    "settings public_url data_directory file_modes disk_space integrity foreign_keys event_bodies schema search_index " +
    "signing_key webhooks sizes backups clock server public_port admin_port";
  expect(statuses(report)).toEqual(checks.split(" ").map((check) => `${check} ok`));
  expect([traces(data), sha256(readFileSync(join(data, "onair.db")))]).toEqual([before, content]);
});

test("prints the same for people, with advice", async () => {
  const data = copy();
  chmodSync(join(data, "onair.db"), 0o644);
  const { code, stdout, stderr } = await run(["doctor", "--data", data, ...freePorts]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toStartWith((await run(["version"])).stdout);
  expect(stdout).toContain(
    `WRONG    file modes       ${join(data, "onair.db")} holds secrets, and other users can read it`,
  );
  expect(stdout).toContain(`→ chmod 600 ${join(data, "onair.db")}\n`);
  expect(stdout).toMatch(/\n\n1 thing is wrong\.\n$/);
});

describe("beside a running server", () => {
  test("finds it healthy, changes nothing and uses no proxy", async () => {
    let asked = 0;
    const proxy = ownListener(() => new Response(String(asked++)));
    const proxies = ["http_proxy", "HTTP_PROXY"];
    const before = proxies.map((name) => process.env[name]);
    for (const name of proxies) process.env[name] = proxy.url;
    try {
      const report = await examined(["--data", served, ...addresses], { ONAIR_ADMIN_KEY: adminKey });
      expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
      expect(ofCheck(report, "server").map(({ message }) => message)).toEqual([
        `process ${process.pid} uses the directory`,
        `the server at ${server.adminUrl} is healthy and ready`,
      ]);
      expect(ofCheck(report, "public_listener")[0]?.message).toBe(
        `the server answers at ${server.publicUrl}`,
      );
      expect(asked).toBe(0);
    } finally {
      for (const [i, name] of proxies.entries()) {
        const value = before[i];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    // The server still has its lock and can write.
    await expect(startServer({ data: served })).rejects.toThrow("is in use by");
    await server.application();
  });

  test("with --full, and at a given public URL", async () => {
    const url = ["--public-url", server.publicUrl];
    const report = await examined(["--data", served, ...addresses, ...url, "--full", "--reach"]);
    expect(ofCheck(report, "integrity")).toMatchObject([
      { status: "ok", message: "every page and index is intact" },
    ]);
    expect(ofCheck(report, "reach")).toMatchObject([{ status: "ok" }]);
    const foreign = await examined(["--data", copy(), ...freePorts, ...url, "--reach"]);
    expect(ofCheck(foreign, "reach")).toMatchObject([
      { status: "wrong", message: expect.stringContaining("has another signing key") },
    ]);
    const without = await examined(["--data", served, ...addresses, "--reach"]);
    expect(ofCheck(without, "reach")).toMatchObject([{ status: "skipped" }]);
  });

  test("on another directory, whose ports are those of the server", async () => {
    const report = await examined(["--data", copy(), ...addresses]);
    for (const check of ["public_port", "admin_port"])
      expect(ofCheck(report, check)).toMatchObject([
        { status: "wrong", message: expect.stringContaining("an On Air server that does not hold ") },
      ]);
  });

  test("that does not answer where the settings say", async () => {
    const report = await examined(["--data", served, "--port", "9", "--admin-port", "10"]);
    expect(ofCheck(report, "server")[1]).toMatchObject({
      status: "wrong",
      advice: expect.stringContaining("--url"),
    });
    expect(ofCheck(report, "public_listener")).toMatchObject([{ status: "wrong" }]);
  });

  test("sends no request to addresses other than loopback", async () => {
    // An address reserved for documentation: a request would run into the timeout.
    const hosts = ["--host", "192.0.2.1", "--admin-host", "192.0.2.1"];
    const report = await examined(["--data", served, ...hosts]);
    expect(statuses(report)).toContain("server skipped");
    expect(statuses(report)).toContain("public_listener skipped");
    expect(statuses(report)).toContain("public_url warning");
    expect(statuses(report)).toContain("admin_host warning");
  });

  test("that has crashed: data that is only in the WAL is counted, and the lock is free", async () => {
    const data = path("crashed");
    cpSync(served, data, { recursive: true });
    chmodSync(data, 0o700);
    const report = await examined(["--data", data, ...freePorts]);
    expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(ofCheck(report, "server")[0]?.message).toBe("no server uses the directory");
    expect(ofCheck(report, "search_index")[0]?.message).toContain(`${users.length} users`);
  });
});

describe("a server that is named", () => {
  test("is asked instead of a directory, with the operator key for its own findings", async () => {
    const report = await examined(["--url", server.adminUrl], { ONAIR_ADMIN_KEY: adminKey });
    expect(statuses(report)).toEqual([
      "server ok",
      "operator_key ok",
      "settings ok",
      "public_url ok",
      "data_directory skipped",
      "file_modes ok",
      "disk_space ok",
      "search_index ok",
      "signing_key ok",
      "webhooks ok",
      "clock ok",
    ]);
    const misspelt = { ONAIR_ADMIN_KEY: adminKey, ONAIR_ADMIN_PROT: "1" };
    const wrongHere = await examined(["--url", server.adminUrl, "--data", copy(), ...freePorts], misspelt);
    expect(ofCheck(wrongHere, "settings").map(({ status }) => status)).toEqual(["wrong", "ok"]);
    expect(ofCheck(wrongHere, "clock")).toHaveLength(1);
    expect(statuses(wrongHere)).toContain("data_directory ok");
    const refused = await examined(["--url", server.adminUrl], {
      ONAIR_ADMIN_KEY: "another-operator-key",
    });
    expect(statuses(refused)).toContain("operator_key wrong");
    const both = await examined(["--url", server.adminUrl, "--data", copy(), ...freePorts]);
    expect(statuses(both)).toContain("integrity ok");
    expect(statuses(both)).not.toContain("operator_key ok");
  });

  test.each<[string, (path: string) => Response, string]>([
    [
      "is not ready",
      (at) => (at === "/healthz" ? Response.json({ status: "ok" }) : new Response(null, { status: 503 })),
      "healthy, but not ready (503)",
    ],
    ["is another program", () => new Response("hello"), "unlike On Air"],
    ["leads elsewhere", () => Response.redirect("http://192.0.2.1/"), "answers 302"],
    [
      "has another time",
      () => Response.json({ status: "ok" }, { headers: { date: new Date(0).toUTCString() } }),
      "this machine differ by",
    ],
    ["sends without end", () => new Response("x".repeat(10_000_000)), "unlike On Air"],
  ])("%s", async (_, answer, message) => {
    const other = ownListener((request) => answer(new URL(request.url).pathname));
    const report = await examined(["--url", other.url]);
    expect(
      ofCheck(report, "server")
        .map((one) => one.message)
        .join(),
    ).toContain(message);
  });

  test("does not answer", async () => {
    const report = await examined(["--url", "http://127.0.0.1:9"]);
    expect(ofCheck(report, "server")).toMatchObject([
      {
        status: "wrong",
        message: expect.stringContaining("http://127.0.0.1:9/healthz cannot be reached (ECONNREFUSED)"),
      },
    ]);
  });
});

test.each<[string[], string]>([
  [["now"], '"now" is not expected here'],
  [["--port", "x"], "--port must be an integer"],
  [["--url"], "--url needs a value"],
  [["--url", "x"], "--url must be an http or https URL"],
  [["--json=1"], "--json takes no value"],
])("wrong usage: %j", async (args, message) => {
  expectFailure(await run(["doctor", ...args]), 2, message);
});
