import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { day } from "../../src/domain/time.ts";
import { examine, runningFindings } from "../../src/operations/checks/checks.ts";
import { spaceFinding } from "../../src/operations/checks/directory.ts";
import { sizesOf } from "../../src/operations/storage-health.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { databaseAt } from "../../src/server/storage-at.ts";
import { databaseCheckProgram } from "../../src/thread-programs.ts";
import { breakIndex } from "../support/backups.ts";
import { alterDatabase, endedServer, freePorts, ofCheck } from "../support/doctor.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { Clock, startServer } from "../support/server.ts";

// Findings of `onair doctor` in a data directory.

const { data: ended, path, copy, examined } = await endedServer();
const { free_bytes: freeBytes } = sizesOf(ended);
const altered = (...statements: string[]) => copy((data) => alterDatabase(data, ...statements));

/** A directory, or whatever exists at its path. */
const places: Readonly<Record<string, () => string>> = {
  "no directory": () => path("nowhere"),
  "a file in its place"() {
    writeFileSync(path("file"), "");
    return path("file");
  },
  "a directory below a file"() {
    writeFileSync(path("no-directory"), "");
    return path("no-directory", "data");
  },
  "a directory without a database"() {
    mkdirSync(path("empty"), { recursive: true });
    return path("empty");
  },
  "a directory with a log and no database"() {
    mkdirSync(path("log"), { recursive: true });
    writeFileSync(path("log", "onair.db-wal"), "");
    return path("log");
  },
  "a directory that others may change": () => copy((data) => chmodSync(data, 0o777)),
  "a backup that others may read": () =>
    copy((data) => {
      const file = join(data, "backups", "one.db");
      mkdirSync(join(data, "backups"));
      writeFileSync(file, "");
      chmodSync(file, 0o644);
    }),
  "half of a database": () =>
    copy((data) => truncateSync(join(data, "onair.db"), statSync(join(data, "onair.db")).size / 2)),
  "an empty file": () => copy((data) => truncateSync(join(data, "onair.db"))),
  "what is no database": () =>
    copy((data) => writeFileSync(join(data, "onair.db"), "not a database at all ".repeat(100))),
  "an index that does not fit its table": () => copy((data) => breakIndex(join(data, "onair.db"))),
  "a database of a newer version": () =>
    altered("INSERT INTO migrations (number, name, hash) VALUES (999, '0999_future', 'x')"),
  "a database of another build": () => altered("UPDATE migrations SET hash = 'x'"),
  "an endpoint that is disabled": () =>
    altered(
      "UPDATE endpoints SET failing_since = 1, failures = 9, disabled_at = 2, disabled_reason = 'gone'",
    ),
};

/** A database that is whole, with rows that cannot be right. */
const spoilt = () =>
  altered(
    `INSERT INTO events (id, name, version, broadcaster_user_id, body, fingerprint, first_delivery, deliveries, published_at)
     VALUES ('broken', 'channel.followed', 1, 1, x'0102030405', x'00', 0, 0, 1)`,
    "INSERT INTO channels (id, user_id, slug, name) VALUES (1, 999999, 'x', 'x')",
    "DELETE FROM users WHERE id = (SELECT min(id) FROM users)",
    `INSERT INTO statistics (kind, subject, period, at, counts, durations) VALUES ('storage', '', 'hour',
       ${Date.now() - 2 * day}, '{"samples":2,"free_bytes":${2 * 5 * freeBytes}}', '[]')`,
    "UPDATE settings SET value = 'PRIVATE nonsense' WHERE key = 'signing_key'",
    `INSERT INTO events (id, name, version, broadcaster_user_id, fingerprint, first_delivery, deliveries, published_at)
     VALUES ('x', 'x', 1, 1, x'00', 0, 0, ${Date.now() + 3 * 3_600_000})`,
    "UPDATE endpoints SET failing_since = 1, failures = 9",
  );

test.each<[place: string, finding: string, message: string, ...args: string[]]>([
  ["no directory", "data_directory wrong", "there is no directory"],
  ["a file in its place", "data_directory wrong", "is not a directory"],
  ["a directory below a file", "data_directory wrong", "this user cannot access"],
  ["a directory without a database", "data_directory warning", "has no database yet"],
  ["a directory with a log and no database", "data_directory wrong", "a part of a database that is missing"],
  ["a directory that others may change", "file_modes wrong", "other users can change files in"],
  ["a backup that others may read", "file_modes wrong", "one.db holds secrets"],
  ["half of a database", "integrity wrong", "damaged"],
  ["an empty file", "integrity wrong", "is not a database of onair, or is damaged (it is empty). Move it"],
  ["what is no database", "integrity wrong", "is not a database of onair"],
  ["an index that does not fit its table", "integrity wrong", "missing from index users_username", "--full"],
  ["a database of a newer version", "schema wrong", "written by a newer version"],
  ["a database of another build", "schema wrong", '"onair export" of that build'],
  ["an endpoint that is disabled", "webhooks warning", "failing endpoints: 0, disabled: 1 (applications 01"],
])("%s is found: %s", async (place, finding, message, ...args) => {
  const report = await examined(["--data", places[place]?.() ?? "", ...freePorts, ...args]);
  const found = report.findings.find(({ check, status }) => `${check} ${status}` === finding);
  expect(found?.message).toContain(message);
  expect(JSON.stringify(report)).not.toContain("PRIVATE");
});

test("of everything that is wrong with the rows of a whole database each is found", async () => {
  const report = await examined(["--data", spoilt(), ...freePorts]);
  const found = report.findings.map(({ check, status, message }) => `${check} ${status}: ${message}`);
  for (const [finding, message] of [
    ["event_bodies wrong", "the body of an event is damaged (broken): deliveries with it"],
    ["foreign_keys wrong", "rows of channels refer to rows that do not exist"],
    ["search_index wrong", `has ${users.length} of ${users.length - 1} users`],
    ["disk_forecast warning", "a day, and will be full in "],
    ["signing_key wrong", "not an Ed25519 key"],
    ["clock wrong", "2 hours before the newest event"],
    ["webhooks warning", "failing endpoints: 1, disabled: 0 (applications 01"],
  ] as const)
    expect(found.filter((one) => one.startsWith(`${finding}: `) && one.includes(message))).toHaveLength(1);
  expect(JSON.stringify(report)).not.toContain("PRIVATE");
});

test("what is no database is reported once, with one advice", async () => {
  const report = await examined(["--data", places["what is no database"]?.() ?? "", ...freePorts]);
  const wrong = report.findings.filter(({ status }) => status !== "ok" && status !== "skipped");
  expect(wrong).toMatchObject([{ check: "integrity", status: "wrong", advice: null }]);
});

test("a database of another build has backups that are not taken for those of other data", async () => {
  const data = places["a database of another build"]?.() ?? "";
  mkdirSync(join(data, "backups"), { recursive: true, mode: 0o700 });
  writeFileSync(join(data, "backups", "onair-data-id"), "01KATHZX5M9S3E6R8B2D4F7G1H\n", { mode: 0o600 });
  const report = await examined(["--data", data, ...freePorts]);
  expect(ofCheck(report, "backups")).toMatchObject([{ status: "ok" }]);
});

test("the report names commands that show a failing endpoint and enable it", async () => {
  const data = places["an endpoint that is disabled"]?.() ?? "";
  const [found] = ofCheck(await examined(["--data", data, ...freePorts]), "webhooks");
  expect(found?.advice).toBe(
    '"onair apps show ID" says why; "onair apps enable-endpoint ID" enables a disabled one again',
  );
});

test("the report has the number of pending deliveries and the age of the oldest", async () => {
  const data = path("pending");
  const waiting = await startServer({ data, users });
  const app = await waiting.application({ webhook_url: "http://127.0.0.1:9/" });
  await subscribe(waiting, app, ["channel.followed"]);
  await publish(waiting, event("channel.followed"));
  await waiting.stop();
  const report = await examined(["--data", data, ...freePorts]);
  expect(ofCheck(report, "webhooks")[0]?.message).toMatch(
    /pending deliveries: 1, the oldest waiting for \d+ seconds/,
  );
});

test("the integrity check of a large database times out", async () => {
  const config = readConfig(["--data", ended, ...freePorts], {});
  const asked = {
    url: null,
    certificate: null,
    withData: true,
    reach: false,
    full: false,
    integrityTimeoutMs: 0,
  };
  const options = {
    config,
    asked,
    env: {},
    secretFiles: [],
    program: databaseCheckProgram,
    databaseAt,
    now: Date.now,
  };
  const findings = await Array.fromAsync(examine({ ...options, place: "doctor" }));
  const pages = findings.filter(({ check }) => /^(integrity|foreign_keys|event_bodies)$/.test(check));
  expect(pages).toMatchObject([
    { check: "integrity", status: "skipped", advice: expect.stringContaining("--full") },
  ]);
});

test.each([
  [100e6, 1e6, "wrong"],
  [1e9, 5e9, "warning"],
  [6e9, 5e9, "ok"],
] as const)("%d bytes free beside %d are %s", (free, database, status) => {
  expect(spaceFinding("data", free, database).status).toBe(status);
});

test("a check that fails is wrong itself, stops no other, and is cached as briefly as they are", async () => {
  let isBroken = true;
  let looks = 0;
  const env = new Proxy<Record<string, string>>(
    {},
    {
      ownKeys() {
        looks++;
        if (isBroken) throw new Error("broken");
        return [];
      },
    },
  );
  const config = readConfig(["--data", ended], {});
  const clock = new Clock(Date.now());
  const now = clock.now;
  const find = runningFindings({
    config,
    env,
    secretFiles: [],
    program: databaseCheckProgram,
    databaseAt,
    now,
  });
  const found = await find();
  expect(found[0]).toEqual({
    check: "settings",
    status: "wrong",
    message: "this check failed: broken",
    advice: null,
  });
  expect(found.length).toBeGreaterThan(3);
  isBroken = false;
  expect(await find()).toBe(found);
  expect(looks).toBe(1);
  clock.advance(10_000);
  expect((await find())[0]).toMatchObject({ check: "settings", status: "ok" });
  expect(looks).toBe(2);
  // The clock is set back.
  clock.advance(-3_600_000);
  await find();
  expect(looks).toBe(3);
});
