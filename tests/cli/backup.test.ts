import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterTests } from "../support/after-tests.ts";
import { backupFiles, inDatabase, type ShownBackup, sha256 } from "../support/backups.ts";
import { ownListener } from "../support/listener.ts";
import { expectFailure, printedJson, program, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { adminKey, startServer, type TestServer, testDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const directory = testDirectory();
const data = join(directory, "data");
const env = { ONAIR_ADMIN_KEY: adminKey };
const path = (name: string) => join(directory, name);
const onair = (args: string[], more: Record<string, string> = {}) =>
  run(["backup", ...args], { env: { ...env, ...more }, cwd: directory });
/** Makes a backup with the command, and returns what it prints. */
const made = (args: string[], more: Record<string, string> = {}) =>
  printedJson<ShownBackup & { file?: string }>(["backup", ...args], {
    env: { ...env, ...more },
    cwd: directory,
  });
const userCount = (file: string) =>
  inDatabase(file, (db) => db.query("SELECT count(*) AS n FROM users").get());
let server: TestServer;
let url: string;

beforeAll(async () => {
  server = await startServer({ data });
  url = server.adminUrl;
  await server.load("users", users);
});
afterTests(() => server.stop());

describe("backup of a running server", () => {
  test("makes a backup and waits until it is done", async () => {
    const backup = await made(["--url", url]);
    expect(backup).toMatchObject({ status: "done", progress: 1, error: null });
    expect(backupFiles(data)).toEqual([`${backup.id}.${backup.sha256}.db`]);
    const readable = await onair(["--url", url]);
    expect([readable.code, readable.stderr]).toEqual([0, ""]);
    expect(readable.stdout).toMatch(/^id +01[0-9A-Z]{24}\n(.+\n)*sha256 +[0-9a-f]{64}\n(.+\n)*$/);
    expect(readable.stdout).not.toContain(adminKey);
  });

  test("downloads it into a file that only its owner can read, whatever the umask", async () => {
    const file = path("mine.db");
    const backup = await made([file, "--url", url]);
    expect(backup.file).toBe(file);
    expect(sha256(readFileSync(file))).toBe(backup.sha256 ?? "");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(userCount(file)).toEqual({ n: users.length });
    expect(existsSync(`${file}.partial`)).toBe(false);
  });

  test("replaces a file only with the option for it", async () => {
    const file = path("taken.db");
    writeFileSync(file, "mine", { mode: 0o644 });
    const refused = await onair([file, "--url", url]);
    expect([refused.code, refused.stdout, readFileSync(file, "utf8")]).toEqual([2, "", "mine"]);
    expect(refused.stderr).toContain(`${file} exists already; --force replaces it`);
    expect((await onair([file, "--force", "--url", url])).code).toBe(0);
    expect(userCount(file)).toEqual({ n: users.length });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("writes it to standard output, for a program that encrypts it", async () => {
    const child = Bun.spawn([...program, "backup", "-", "--url", url], {
      env: { PATH: process.env["PATH"], ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [bytes, errors] = await Promise.all([child.stdout.bytes(), child.stderr.text(), child.exited]);
    expect([child.exitCode, errors]).toEqual([0, ""]);
    const file = path("piped.db");
    writeFileSync(file, bytes);
    expect(userCount(file)).toEqual({ n: users.length });
  });
});

type Answers = Record<string, (cut: () => void) => Response>;

/** An admin listener with wrong answers, chosen by method and last part of the path. */
function listener(answers: Answers) {
  const server = ownListener((request) => {
    const end = new URL(request.url).pathname.split("/").at(-1);
    const answer = answers[`${request.method} ${end}`];
    const response = answer?.(() => void server.stop()) ?? new Response(null, { status: 404 });
    response.headers.set("x-request-id", "one");
    return response;
  });
  return server;
}

const running = { id: "b", status: "running", progress: 0.5, size_bytes: 1, sha256: null, error: null };
const done = {
  ...running,
  status: "done",
  progress: 1,
  size_bytes: 4,
  sha256: sha256(Buffer.from("good")),
};
const conflict = (message: string) => Response.json({ message }, { status: 409 });

test("waits for a backup in progress, and then makes its own", async () => {
  let looks = 0;
  const server = listener({
    "POST backups": () =>
      looks < 2 ? conflict("The backup b is still running") : Response.json({ ...done, id: "c" }),
    "GET backups": () => Response.json({ data: [running] }),
    "GET b": () => Response.json(++looks < 2 ? running : done),
  });
  const { code, stdout, stderr } = await onair(["--url", server.url, "--json"]);
  expect([code, stderr]).toEqual([0, "Waiting for backup b, which is in progress.\n"]);
  expect(JSON.parse(stdout)).toMatchObject({ id: "c", status: "done" });
});

describe("a failure is reported, and leaves no file", () => {
  const made = { "POST backups": () => Response.json(running, { status: 202 }) };
  const half = (cut: () => void) => {
    void until(() => existsSync(`${path("never.db")}.partial`)).then(cut);
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("go")) }));
  };
  test.each<[string, Answers, string]>([
    [
      "the destination is in use by another server",
      { "POST backups": () => conflict("Another server"), "GET backups": () => Response.json({ data: [] }) },
      "answered 409: Another server",
    ],
    [
      "it fails",
      { ...made, "GET b": () => Response.json({ ...running, status: "failed", error: "The disk is full." }) },
      "The disk is full.",
    ],
    ["it is gone", made, "answered 404"],
    [
      "other bytes arrive",
      { ...made, "GET b": () => Response.json(done), "GET content": () => new Response("evil") },
      "The download is damaged",
    ],
    [
      "the connection breaks off",
      { ...made, "GET b": () => Response.json(done), "GET content": half },
      "broke off",
    ],
  ])("%s", async (_, answers, message) => {
    const wrong = listener(answers);
    const file = path("never.db");
    const { code, stdout, stderr } = await onair([file, "--url", wrong.url]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false]);
  });
});

describe("wrong usage", () => {
  test.each<[string[], string]>([
    [["a", "b"], '"b" is not expected here'],
    [["--fast"], "--fast"],
    [["--url", "http://x", "--data", "y"], "exclude each other"],
    [["--force"], "--force is for a file"],
    [["-", "--json"], "--json excludes the backup on standard output"],
    [["--data", "nowhere-at-all"], "There is no data in nowhere-at-all"],
    [["no/such/directory/file.db"], "There is no directory no/such/directory"],
  ])("%j", async (args, message) => {
    expectFailure(await onair(args), 2, message);
  });
});

test("a directory in use is refused; without a server, only the configured number of backups is kept", async () => {
  expectFailure(await onair(["--data", data]), 1, `in use by process ${process.pid}`);
  await server.stop();
  try {
    const file = path("idle.db");
    const backup = await made([file, "--data", data], { ONAIR_KEEP_BACKUPS: "1" });
    expect(backupFiles(data)).toEqual([`${backup.id}.${backup.sha256}.db`]);
    expect(sha256(readFileSync(file))).toBe(backup.sha256 ?? "");
    expect(userCount(file)).toEqual({ n: users.length });
  } finally {
    server = await startServer({ data });
  }
});
