import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newKeyFile } from "../../../src/operations/backups/encryption.ts";
import { backupFiles, inDatabase, madeBackup, type ShownBackup } from "../../support/backups.ts";
import { FakeS3 } from "../../support/fake-s3.ts";
import { expectFailure, run } from "../../support/process.ts";
import { users } from "../../support/real-data.ts";
import { ownServer, testDirectory } from "../../support/server.ts";

// Encrypted backups, and commands that list and restore backups from directories and S3.

const directory = testDirectory();
const path = (...names: string[]) => join(directory, ...names);
const onair = (words: string[], env: Record<string, string> = {}) => run(words, { cwd: directory, env });
const userCount = (data: string) =>
  inDatabase(path(data, "onair.db"), (db) => db.query("SELECT count(*) AS n FROM users").get());
/** The files that a failed restore left in a data directory. */
const leftIn = (data: string) =>
  existsSync(path(data)) ? readdirSync(path(data)).filter((name) => !/^onair\.(lock|pid)/.test(name)) : [];

let recipient = "";
/** Creates a key pair. Returns the public key. */
async function keyPair(file: string): Promise<string> {
  const text = await newKeyFile();
  writeFileSync(path(file), text);
  return /age1[a-z0-9]+/.exec(text)?.[0] ?? "";
}

beforeAll(async () => {
  recipient = await keyPair("mine.key");
  await keyPair("other.key");
});

/** Backups of a server with users, made with these options. */
async function made(data: string, args: string[], many = 1): Promise<ShownBackup[]> {
  const aws = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "s" };
  const server = await ownServer({ isOnSqlite: true, data: path(data), users, args, aws });
  const backups: ShownBackup[] = [];
  for (let n = 0; n < many; n++) backups.unshift(await madeBackup(server));
  await server.stop();
  return backups;
}

describe("encrypted for a public key", () => {
  let backup: ShownBackup;
  let file: string;
  beforeAll(async () => {
    [backup] = (await made("encrypted", ["--backup-recipients", recipient])) as [ShownBackup];
    file = path("encrypted", "backups", backupFiles(path("encrypted"))[0] ?? "");
  });

  test("a backup is an age file without any readable data", () => {
    expect(backup.is_encrypted).toBe(true);
    expect(file).toEndWith(`${backup.id}.${backup.sha256}.db.age`);
    const bytes = readFileSync(file);
    expect(bytes.toString("latin1")).toStartWith("age-encryption.org/v1\n");
    expect(bytes.includes("SQLite format") || bytes.includes("whsec_")).toBe(false);
    expect(backupFiles(path("encrypted"))).toHaveLength(1);
  });

  test("is restored with the secret key", async () => {
    const { code, stdout, stderr } = await onair(["restore", file, "--data", "a", "--identity", "mine.key"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`${users.length} users, 0 applications`);
    expect(userCount("a")).toEqual({ n: users.length });
  });

  test.each<[string, string[], 1 | 2, string]>([
    ["without the secret key", [], 1, "it is encrypted: name the file with its secret key with --identity."],
    [
      "with another key",
      ["--identity", "other.key"],
      1,
      "it is encrypted for another key than that of --identity",
    ],
    ["with a file that is none", ["--identity", "mine"], 2, "There is no file mine"],
    ["with a file that holds none", ["--identity", "none.key"], 2, "and it has none"],
    [
      "with a key that is mistyped",
      ["--identity", "typo.key"],
      2,
      "and the checksum of a key does not match",
    ],
  ])("is not restored %s", async (_, words, code, message) => {
    writeFileSync(path("none.key"), "# nothing\n");
    const typo = (last: string) => (last === "0\n" ? "2\n" : "0\n");
    writeFileSync(path("typo.key"), readFileSync(path("mine.key"), "utf8").replace(/.\n$/, typo));
    const result = await onair(["restore", file, "--data", "never", ...words]);
    expectFailure(result, code, message);
    expect(result.stderr).not.toContain("AGE-SECRET-KEY-1Q");
    expect(leftIn("never")).toEqual([]);
  });

  test.each<[string, (bytes: Buffer) => Uint8Array, string]>([
    [
      "is cut off",
      (bytes) => bytes.subarray(0, bytes.length >> 1),
      "it is encrypted, and damaged or incomplete",
    ],
    [
      "is cut off in its header",
      (bytes) => bytes.subarray(0, 100),
      "it is encrypted, and damaged or incomplete",
    ],
    [
      "is altered",
      (bytes) => {
        const middle = bytes.length >> 1;
        return bytes.with(middle, (bytes[middle] ?? 0) ^ 1);
      },
      "damaged or incomplete",
    ],
    [
      "ends after a complete chunk",
      (bytes) => bytes.subarray(0, bytes.length - 2_000),
      "damaged or incomplete",
    ],
  ])("a backup that %s is not restored", async (_, change, message) => {
    writeFileSync(path("changed.db.age"), change(readFileSync(file)));
    const result = await onair(["restore", "changed.db.age", "--data", "never", "--identity", "mine.key"]);
    expectFailure(result, 1, message);
    expect(result.stderr).toContain("use another backup");
    expect(leftIn("never")).toEqual([]);
  });

  const age = Bun.which("age");
  if (!age) console.warn("SKIPPED: age is not installed: what it makes of our files is not tested.");
  test.skipIf(!age)("age decrypts our backups, and backups encrypted by age are restored", async () => {
    const key = path("mine.key");
    chmodSync(key, 0o600);
    const plain = Bun.spawnSync(["age", "--decrypt", "--identity", key, "--output", path("plain.db"), file]);
    expect(plain.exitCode).toBe(0);
    expect((await onair(["restore", "plain.db", "--data", "by-age"])).code).toBe(0);
    const again = ["--encrypt", "--recipient", recipient, "--output", path("again.age"), path("plain.db")];
    expect(Bun.spawnSync(["age", ...again]).exitCode).toBe(0);
    expect((await onair(["restore", "again.age", "--data", "again", "--identity", "mine.key"])).code).toBe(0);
    expect(userCount("again")).toEqual({ n: users.length });
  });
});

test("onair backup key creates a matching key pair", async () => {
  const { code, stdout } = await onair(["backup", "key"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^# public key, for --backup-recipients: age1[a-z0-9]{58}\nAGE-SECRET-KEY-1[0-9A-Z]{58}\n$/,
  );
  expect((await onair(["backup", "key"])).stdout).not.toBe(stdout);
});

test.each<[string, string, string]>([
  ["a secret key", "AGE-SECRET-KEY-1QQQQ", "and the secret key (keep it elsewhere"],
  ["no key", "ssh-ed25519 AAAA", 'and "ssh-ed25519 AAAA" is not one'],
])("a server does not start with %s as recipient", async (_, key, message) => {
  const result = await onair(["serve", "--data", "unserved", "--backup-recipients", key]);
  expectFailure(result, 2, message);
  expect(result.stderr).not.toContain("QQQQ");
});

test("a server does not start with a mistyped recipient", async () => {
  const wrong = recipient.slice(0, -1) + (recipient.endsWith("q") ? "p" : "q");
  const args = ["--port", "0", "--admin-port", "0", "--backup-recipients", wrong];
  const result = await onair(["serve", "--data", "unserved", ...args]);
  expect([result.code, result.stdout]).toEqual([1, ""]);
  expect(result.stderr).toContain(`${wrong} is not a public key of age: its checksum does not match`);
});

describe("from a directory", () => {
  let backups: ShownBackup[];
  beforeAll(async () => {
    backups = await made("served", ["--backup-to", path("kept")], 2);
  });

  test("the newest backup is restored, or the one with a given id", async () => {
    const newest = await onair(["restore", "--from", "kept", "--data", "newest", "--json"]);
    expect(JSON.parse(newest.stdout)).toMatchObject({ sha256: backups[0]?.sha256, users: users.length });
    const other = await onair([
      "restore",
      backups[1]?.id ?? "",
      "--from",
      "kept",
      "--data",
      "other",
      "--json",
    ]);
    expect(JSON.parse(other.stdout)).toMatchObject({ sha256: backups[1]?.sha256 });
  });

  test("all are listed, newest first", async () => {
    const { code, stdout } = await onair(["backup", "list", "--from", "kept"]);
    expect(code).toBe(0);
    const lines = stdout.trim().split("\n");
    expect(lines[0]).toMatch(/^ID +STATUS +CREATED +BYTES +ENCRYPTED/);
    expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(backups.map(({ id }) => id));
    const { data } = JSON.parse((await onair(["backup", "list", "--from", "kept", "--json"])).stdout);
    expect(data).toMatchObject(backups.map(({ id, sha256, size_bytes }) => ({ id, sha256, size_bytes })));
    const here = await onair(["backup", "list", "--data", "served", "--json"], {
      ONAIR_BACKUP_TO: path("kept"),
    });
    expect(JSON.parse(here.stdout).data).toHaveLength(2);
  });

  test.each<[string, string[], 1 | 2, string]>([
    [
      "an unknown id",
      ["restore", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD", "--from", "kept"],
      2,
      "There is no backup 01KEYN5Z9V",
    ],
    ["a place that is not there", ["restore", "--from", "nowhere"], 1, "There is no directory /"],
    ["a place without any", ["restore", "--from", "served"], 1, "There is no backup in "],
    [
      "an invalid destination",
      ["restore", "--from", "ftp://x"],
      2,
      "--from must be a directory, or like s3://bucket/prefix",
    ],
    ["no place", ["restore", "--backup-region", "x", "a"], 2, "need --from"],
    ["a place for a new backup", ["backup", "--from", "kept"], 2, "--from is for list"],
    ["a place and a server", ["backup", "list", "--from", "kept", "--data", "x"], 2, "exclude each other"],
    ["an option for keys", ["backup", "key", "--json"], 2, "--json is not for key"],
  ])("%s is refused", async (_, words, code, message) => {
    const more = words[0] === "restore" ? ["--data", "never"] : [];
    expectFailure(await onair([...words, ...more]), code, message);
    expect(leftIn("never")).toEqual([]);
  });
});

describe("from S3", () => {
  const env = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
  const args = (s3: FakeS3) => ["--from", "s3://backups/onair", "--backup-endpoint", s3.endpoint];

  test("an encrypted backup is listed and restored, although the connection breaks", async () => {
    const s3 = await FakeS3.own();
    const to = ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint];
    const [backup] = await made("to-s3", [...to, "--backup-recipients", recipient]);
    expect([...s3.objects.keys()]).toContain(`onair/${backup?.id}.${backup?.sha256}.db.age`);
    const listed = await onair(["backup", "list", ...args(s3)], env);
    expect(listed.stdout).toMatch(new RegExp(`\n${backup?.id} +done .* yes\n$`));
    let cuts = 1;
    s3.fault = ({ method, key }) =>
      method === "GET" && key !== "" && cuts-- > 0 ? { cutAfterBytes: 90_000 } : null;
    const words = ["restore", ...args(s3), "--data", "from-s3", "--identity", "mine.key"];
    const { code, stderr } = await onair(words, env);
    expect([code, stderr]).toEqual([0, ""]);
    expect(userCount("from-s3")).toEqual({ n: users.length });
  });

  test("that refuses, nothing is restored, and the error names the reason", async () => {
    const s3 = await FakeS3.own();
    s3.fault = () => ({ status: 403, code: "AccessDenied" });
    const result = await onair(["restore", ...args(s3), "--data", "never"], env);
    expectFailure(result, 1, "answered 403 AccessDenied: let these credentials list, read");
    expect(result.stderr).not.toContain("very secret");
    expect(leftIn("never")).toEqual([]);
  });
});
