import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { databaseCheckProgram } from "../../src/app.ts";
import { doctor } from "../../src/cli/doctor.ts";
import { isLoopback } from "../../src/doctor/ask.ts";
import { integrityFindings } from "../../src/doctor/database.ts";
import { spaceFinding } from "../../src/doctor/directory.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { migrate, migrations } from "../../src/store/sqlite/database/migrations.ts";
import { inDatabase, sha256 } from "../support/backups.ts";
import { inProcess } from "../support/command.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { adminKey, startServer, testDirectory, testServer } from "../support/server.ts";

const directory = testDirectory();
const path = (...names: string[]) => join(directory, ...names);
const served = path("served");
/** As it was left by a server that ended, with users, an application and a key in it. */
const ended = path("ended");
const freePorts = ["--port", "0", "--admin-port", "0"];
let copies = 0;

const first = await startServer({ data: ended });
await first.load("users", users);
const { id, webhook_secret, client_secret } = await first.application({
  webhook_url: "http://127.0.0.1:9/",
});
const { token } = await first.application();
await first.stop();
// All that still refers to it in this process.
Bun.gc(true);
const settled = new Database(join(ended, "onair.db"));
settled.run("INSERT INTO endpoints (application_id, failures) VALUES (?, 0)", [id]);
const { value = "" } =
  settled.query<{ value: string }, []>("SELECT value FROM settings WHERE key = 'signing_key'").get() ?? {};
settled.run("PRAGMA wal_checkpoint(TRUNCATE)");
settled.close(true);
const keyLines = value.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
const secrets = [adminKey, webhook_secret, client_secret, token, ...keyLines];

const server = await testServer({ data: served, users });
const port = (url: string) => new URL(url).port;
const addresses = ["--port", port(server.app.publicUrl), "--admin-port", port(server.app.adminUrl)];

interface Report {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Runs it for a program, and for people, who are told the same. */
async function examined(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await inProcess(doctor, [...args, "--json"], env);
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as Report;
  expect(code).toBe(report.ok ? 0 : 1);
  expect(report.ok).toBe(report.findings.every(({ status }) => status !== "wrong"));
  for (const secret of secrets) expect(stdout).not.toContain(secret);
  return report;
}

const statuses = ({ findings }: Report) => findings.map(({ check, status }) => `${check} ${status}`);
const of = ({ findings }: Report, check: string) => findings.filter((one) => one.check === check);

/** Everything that could be changed in a directory. */
const traces = (data: string) =>
  readdirSync(data)
    .sort()
    .map((name) => [name, statSync(join(data, name)).mtimeMs, statSync(join(data, name)).mode]);

/** A copy of what a server left. */
function copy(): string {
  const data = path(`copy${copies++}`);
  mkdirSync(data, { mode: 0o700 });
  for (const name of ["onair.db", "onair.lock", "onair.pid"])
    copyFileSync(join(ended, name), join(data, name));
  return data;
}

/** The same, with a change that On Air would never make. */
function altered(...statements: string[]): string {
  const data = copy();
  const db = new Database(join(data, "onair.db"));
  for (const statement of statements) db.run(statement);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close(true);
  return data;
}

test("a directory without a server is well, and left as it was", async () => {
  const data = copy();
  const before = traces(data);
  const content = sha256(readFileSync(join(data, "onair.db")));
  const report = await examined(["--data", data, ...freePorts]);
  expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(statuses(report)).toEqual(
    [
      "settings",
      "public_url",
      "data_directory",
      "file_modes",
      "disk_space",
      "integrity",
      "foreign_keys",
      "schema",
      "search_index",
      "signing_key",
      "webhooks",
      "clock",
      "server",
      "public_port",
      "admin_port",
    ].map((check) => `${check} ok`),
  );
  expect([traces(data), sha256(readFileSync(join(data, "onair.db")))]).toEqual([before, content]);
});

test("tells people the same, with what to do", async () => {
  const data = copy();
  chmodSync(join(data, "onair.db"), 0o644);
  const { code, stdout, stderr } = await inProcess(doctor, ["--data", data, ...freePorts]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toContain(
    `WRONG    file modes       ${join(data, "onair.db")} holds secrets and is open to others`,
  );
  expect(stdout).toContain(`→ chmod 600 ${join(data, "onair.db")}\n`);
  expect(stdout).toMatch(/\n\n1 thing is wrong\.\n$/);
});

describe("beside a running server", () => {
  test("it finds it well, disturbs nothing and goes through no proxy", async () => {
    let asked = 0;
    const proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(String(asked++)) });
    const proxies = ["http_proxy", "HTTP_PROXY"];
    const before = proxies.map((name) => process.env[name]);
    for (const name of proxies) process.env[name] = `http://127.0.0.1:${proxy.port}`;
    try {
      const report = await examined(["--data", served, ...addresses], { ONAIR_ADMIN_KEY: adminKey });
      expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
      expect(of(report, "server").map(({ message }) => message)).toEqual([
        `process ${process.pid} uses the directory`,
        `the server at ${server.app.adminUrl} is healthy and ready`,
      ]);
      expect(of(report, "public_listener")[0]?.message).toBe(`the server answers at ${server.app.publicUrl}`);
      expect(asked).toBe(0);
    } finally {
      for (const [i, name] of proxies.entries()) {
        const value = before[i];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      await proxy.stop(true);
    }
    // Its lock was not touched, and it writes.
    await expect(startServer({ data: served })).rejects.toThrow("is in use by");
    await server.application();
  });

  test("with --full, and at a given public URL", async () => {
    const url = ["--public-url", server.app.publicUrl];
    const report = await examined(["--data", served, ...addresses, ...url, "--full", "--reach"]);
    expect(of(report, "integrity")).toMatchObject([
      { status: "ok", message: "every page and index is in order" },
    ]);
    expect(of(report, "reach")).toMatchObject([{ status: "ok" }]);
    const foreign = await examined(["--data", copy(), ...freePorts, ...url, "--reach"]);
    expect(of(foreign, "reach")).toMatchObject([
      { status: "wrong", message: expect.stringContaining("signs with another key") },
    ]);
    const without = await examined(["--data", served, ...addresses, "--reach"]);
    expect(of(without, "reach")).toMatchObject([{ status: "skipped" }]);
  });

  test("that does not answer where the settings say", async () => {
    const report = await examined(["--data", served, "--port", "9", "--admin-port", "10"]);
    expect(of(report, "server")[1]).toMatchObject({
      status: "wrong",
      mend: expect.stringContaining("--url"),
    });
    expect(of(report, "public_listener")).toMatchObject([{ status: "wrong" }]);
  });

  test("on other addresses than loopback it sends no request", async () => {
    // A network for documentation: asking it would take until the timeout.
    const hosts = ["--host", "192.0.2.1", "--admin-host", "192.0.2.1"];
    const report = await examined(["--data", served, ...hosts]);
    expect(statuses(report)).toContain("server skipped");
    expect(statuses(report)).toContain("public_listener skipped");
    expect(statuses(report)).toContain("public_url warning");
    expect(statuses(report)).toContain("admin_host warning");
  });

  test("that has crashed: what is only in its log counts, and the lock is free", async () => {
    const data = path("crashed");
    cpSync(served, data, { recursive: true });
    chmodSync(data, 0o700);
    const report = await examined(["--data", data, ...freePorts]);
    expect(report.findings.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(of(report, "server")[0]?.message).toBe("no server uses the directory");
    expect(of(report, "search_index")[0]?.message).toContain(`${users.length} users`);
  });
});

describe("finds", () => {
  test.each<
    [what: string, make: () => string, check: string, status: string, message: string, args?: string[]]
  >([
    ["no directory", () => path("nowhere"), "data_directory", "wrong", "there is no directory"],
    [
      "a file in its place",
      () => {
        writeFileSync(path("file"), "");
        return path("file");
      },
      "data_directory",
      "wrong",
      "is not a directory",
    ],
    [
      "a directory without a database",
      () => {
        mkdirSync(path("empty"));
        return path("empty");
      },
      "data_directory",
      "warning",
      "has no database yet",
    ],
    [
      "a directory that others may change",
      () => {
        const data = copy();
        chmodSync(data, 0o777);
        return data;
      },
      "file_modes",
      "wrong",
      "others may change what is in",
    ],
    [
      "a backup that others may read",
      () => {
        const data = copy();
        mkdirSync(join(data, "backups"));
        writeFileSync(join(data, "backups", "one.db"), "", { mode: 0o644 });
        chmodSync(join(data, "backups", "one.db"), 0o644);
        return data;
      },
      "file_modes",
      "wrong",
      "one.db holds secrets",
    ],
    [
      "half of a database",
      () => {
        const data = copy();
        truncateSync(join(data, "onair.db"), statSync(join(data, "onair.db")).size / 2);
        return data;
      },
      "integrity",
      "wrong",
      "damaged",
    ],
    [
      "what is no database",
      () => {
        const data = copy();
        writeFileSync(join(data, "onair.db"), "not a database at all ".repeat(100));
        return data;
      },
      "schema",
      "wrong",
      "is not a database of onair",
    ],
    [
      "an index that does not fit its table, with --full",
      () => {
        const data = copy();
        const file = join(data, "onair.db");
        const page = inDatabase(file, (db) =>
          db
            .query<{ start: number; size: number }, []>(
              "SELECT (rootpage - 1) * page_size AS start, page_size AS size FROM sqlite_schema, pragma_page_size() WHERE name = 'users_username'",
            )
            .get(),
        );
        const bytes = readFileSync(file);
        const index = bytes.subarray(page?.start, (page?.start ?? 0) + (page?.size ?? 0));
        index.write("xqcoy", index.indexOf("xqcow"));
        writeFileSync(file, bytes);
        return data;
      },
      "integrity",
      "wrong",
      "missing from index users_username",
      ["--full"],
    ],
    [
      "rows that refer to nothing",
      () => altered("INSERT INTO channels (id, user_id, slug, name) VALUES (1, 999999, 'x', 'x')"),
      "foreign_keys",
      "wrong",
      "rows of channels refer to rows that do not exist",
    ],
    [
      "a database of a newer version",
      () => altered("INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')"),
      "schema",
      "wrong",
      "written by a newer version",
    ],
    [
      "a database of an older version",
      () => {
        const data = path(`copy${copies++}`);
        mkdirSync(data, { mode: 0o700 });
        const db = new Database(join(data, "onair.db"));
        migrate(db, migrations.slice(0, 3));
        db.close(true);
        chmodSync(join(data, "onair.db"), 0o600);
        return data;
      },
      "schema",
      "warning",
      "of an older version (0002_delivery)",
    ],
    [
      "an index of the search without a user",
      () => altered("DELETE FROM users WHERE id = (SELECT min(id) FROM users)"),
      "search_index",
      "wrong",
      `has ${users.length} users, of ${users.length - 1}`,
    ],
    [
      "a key that is none",
      () => altered("UPDATE settings SET value = 'PRIVATE nonsense' WHERE key = 'signing_key'"),
      "signing_key",
      "wrong",
      "not an Ed25519 key",
    ],
    [
      "a clock that was set back",
      () =>
        altered(
          `INSERT INTO events (id, name, version, broadcaster_user_id, fingerprint, first_delivery, deliveries, published_at)
           VALUES ('x', 'x', 1, 1, x'00', 0, 0, ${Date.now() + 3 * 3_600_000})`,
        ),
      "clock",
      "wrong",
      "2 hours before the newest event",
    ],
    [
      "an endpoint that is disabled",
      () =>
        altered(
          "UPDATE endpoints SET failing_since = 1, failures = 9, disabled_at = 2, disabled_reason = 'gone'",
        ),
      "webhooks",
      "warning",
      "endpoints that are failing: 0, disabled: 1 (of 01",
    ],
  ])("%s", async (_, make, check, status, message, args = []) => {
    const report = await examined(["--data", make(), ...freePorts, ...args]);
    const found = of(report, check).find((one) => one.status === status);
    expect(found?.message).toContain(message);
    expect(JSON.stringify(report)).not.toContain("PRIVATE");
  });

  test("how many deliveries wait, and since when", async () => {
    const data = path("pending");
    const waiting = await startServer({ data });
    await waiting.load("users", users);
    const app = await waiting.application({ webhook_url: "http://127.0.0.1:9/" });
    await subscribe(waiting, app, ["channel.followed"]);
    await publish(waiting, event("channel.followed"));
    await waiting.stop();
    const report = await examined(["--data", data, ...freePorts]);
    expect(of(report, "webhooks")[0]?.message).toMatch(/pending deliveries: 1, the oldest for \d+ seconds/);
  });

  test("a port that another program has", async () => {
    const other = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const args = ["--data", copy(), "--port", String(other.port), "--admin-host", "192.0.2.1"];
    const report = await examined(args);
    other.stop(true);
    expect(of(report, "public_port")).toMatchObject([
      { status: "wrong", message: `127.0.0.1:${other.port}: another program has it` },
    ]);
    expect(of(report, "admin_port")).toMatchObject([
      { status: "wrong", message: "192.0.2.1:8081: this machine has no such address" },
    ]);
  });

  test("what is wrong with the settings, and looks at the rest all the same", async () => {
    const report = await examined(["--data", copy(), ...freePorts], {
      ONAIR_RATE_LIMIT: "x",
      ONAIR_ADMIN_KEY: "short!",
      ONAIR_PROT: "1",
      ONAIR_IMAGE_TAG: "3",
    });
    const told = of(report, "settings").map(({ status, message, mend }) => `${status}: ${message} ${mend}`);
    expect(told).toHaveLength(4);
    for (const pattern of [
      /^wrong: ONAIR_RATE_LIMIT must be an integer/,
      /^wrong: ONAIR_ADMIN_KEY must be 8 to 200/,
      /^wrong: ONAIR_PROT .* rename it to ONAIR_PORT$/,
      /^warning: ONAIR_IMAGE_TAG /,
    ]) {
      expect(told.filter((one) => pattern.test(one))).toHaveLength(1);
    }
    expect(JSON.stringify(report)).not.toContain("short!");
    expect(statuses(report)).toContain("integrity ok");
    const keys = await examined(["--data", copy(), ...freePorts], {
      ONAIR_JWKS_URL: "https://platform.example/",
    });
    expect(of(keys, "settings")).toMatchObject([
      { status: "wrong", message: expect.stringContaining("must be given together") },
    ]);
  });

  test("what is risky about a server that others reach", async () => {
    const at = async (...args: string[]) =>
      of(await examined(["--data", copy(), ...freePorts, ...args]), "public_url");
    expect(await at("--public-url", "http://api.example.com")).toMatchObject([{ status: "warning" }]);
    expect(await at("--public-url", "https://api.example.com")).toMatchObject([
      { status: "warning", mend: "name the proxy with --trusted-proxies" },
    ]);
    const proxied = ["--public-url", "https://api.example.com", "--trusted-proxies", "10.0.0.0/8"];
    expect(await at(...proxied)).toMatchObject([{ status: "ok" }]);
    expect(await at(...proxied, "--allow-private-webhooks")).toMatchObject([{ status: "warning" }]);
  });
});

describe("a server that is named", () => {
  test("is asked alone, with the operator key for its endpoints", async () => {
    const report = await examined(["--url", server.app.adminUrl], { ONAIR_ADMIN_KEY: adminKey });
    expect(statuses(report)).toEqual([
      "settings ok",
      "public_url ok",
      "clock ok",
      "server ok",
      "operator_key ok",
      "webhooks ok",
    ]);
    const refused = await examined(["--url", server.app.adminUrl], { ONAIR_ADMIN_KEY: "another-key" });
    expect(statuses(refused)).toContain("operator_key wrong");
    const both = await examined(["--url", server.app.adminUrl, "--data", copy(), ...freePorts]);
    expect(statuses(both)).toContain("integrity ok");
    expect(statuses(both)).not.toContain("operator_key ok");
  });

  test.each<[string, (path: string) => Response, string]>([
    [
      "is not ready",
      (at) => (at === "/healthz" ? Response.json({ status: "ok" }) : new Response(null, { status: 503 })),
      "healthy, but not ready (503)",
    ],
    ["is another program", () => new Response("hello"), "not as On Air does"],
    ["leads elsewhere", () => Response.redirect("http://192.0.2.1/"), "answers 302"],
    [
      "has another time",
      () => Response.json({ status: "ok" }, { headers: { date: new Date(0).toUTCString() } }),
      "s apart",
    ],
    ["sends without end", () => new Response("x".repeat(10_000_000)), "not as On Air does"],
  ])("%s", async (_, answer, message) => {
    const other = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => answer(new URL(request.url).pathname),
    });
    const report = await examined(["--url", `http://127.0.0.1:${other.port}/`]);
    await other.stop(true);
    expect(
      of(report, "server")
        .map((one) => one.message)
        .join(),
    ).toContain(message);
  });

  test("does not answer", async () => {
    const report = await examined(["--url", "http://127.0.0.1:9"]);
    expect(of(report, "server")).toMatchObject([
      { status: "wrong", message: expect.stringContaining("http://127.0.0.1:9/healthz (ECONNREFUSED)") },
    ]);
  });
});

test("the look at a large database is given up after a while", async () => {
  const findings = await integrityFindings({
    data: ended,
    full: false,
    program: databaseCheckProgram,
    timeoutMs: 0,
  });
  expect(findings).toMatchObject([
    { check: "integrity", status: "skipped", mend: expect.stringContaining("--full") },
  ]);
});

test.each([
  [100e6, 1e6, "wrong"],
  [1e9, 5e9, "warning"],
  [6e9, 5e9, "ok"],
] as const)("%d bytes free beside %d are %s", (free, database, status) => {
  expect(spaceFinding("data", free, database).status).toBe(status);
});

test.each([
  ["localhost", true],
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["[::1]", true],
  ["::", true],
  ["0.0.0.0", true],
  ["127.0.0.1.example.com", false],
  ["1::1", false],
  ["10.0.0.1", false],
  ["localhost.example", false],
])("%s is loopback: %p", (host, is) => {
  expect(isLoopback(host)).toBe(is);
});

test.each<[string[], string]>([
  [["now"], '"now" is not expected here'],
  [["--mend"], "--mend is not a known option"],
  [["--port", "x"], "--port must be an integer"],
  [["--url"], "--url needs a value"],
  [["--url", "x"], "--url must be an http URL"],
  [["--json=1"], "--json takes no value"],
])("wrong usage: %j", async (args, message) => {
  const { code, stdout, stderr } = await inProcess(doctor, args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
});
