import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { progressLine } from "../../src/cli/progress.ts";
import { client, run, type ServerProcess, serve } from "../support/process.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { adminKey, temporaryDirectory } from "../support/server.ts";

const directory = temporaryDirectory();
afterAll(() => directory.remove());

let count = 0;
/** A file of these lines. */
function fileOf(rows: readonly unknown[], separator = "\n"): string {
  const path = join(directory.path, `${++count}.ndjson`);
  writeFileSync(
    path,
    rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join(separator),
  );
  return path;
}

const bad = [
  { id: 1, username: "one" },
  '{"id": 2,',
  { id: 3, username: "search" },
  "",
  { id: 4, username: "ONE" },
  { id: 5, username: "five" },
];

describe.each(["into a data directory", "through a running server"])("onair import, %s", (way) => {
  const data = join(directory.path, way.replaceAll(" ", "-"));
  let server: ServerProcess | null = null;
  const env = { ONAIR_ADMIN_KEY: adminKey };
  const to = () => (server ? ["--url", server.adminUrl] : ["--data", data]);
  const load = (...args: string[]) => run(["import", ...args, ...to()], { env });

  beforeAll(async () => {
    if (way === "through a running server") server = await serve(["--data", data]);
  });
  afterAll(async () => {
    await server?.end("SIGTERM");
  });

  test("takes real users, categories, channels and livestreams, and the same again", async () => {
    for (let i = 0; i < 2; i++) {
      for (const [kind, rows] of Object.entries({ users, categories, channels, livestreams })) {
        const result = await load(kind, fileOf(rows));
        expect(result).toEqual({ code: 0, stdout: `${rows.length} accepted, 0 rejected\n`, stderr: "" });
      }
    }
  });

  test("tells refused lines with number and reason, and keeps the rest", async () => {
    const result = await load("users", fileOf(bad));
    expect([result.code, result.stdout]).toEqual([1, "2 accepted, 3 rejected\n"]);
    expect(result.stderr.split("\n")).toEqual([
      "line 2: The line is not valid JSON",
      'line 3: username "search" is reserved, because it is a path of the public API',
      'line 5: username "ONE" is taken by user 1',
      "",
    ]);
  });

  test("prints the report as JSON", async () => {
    const result = await load("users", fileOf(bad), "--json");
    expect([result.code, result.stderr]).toEqual([1, ""]);
    expect(JSON.parse(result.stdout)).toMatchObject({
      accepted: 2,
      rejected: 3,
      errors: [{ line: 2 }, {}, {}],
    });
  });

  test("shows twenty refused lines and counts the rest", async () => {
    const result = await load("users", fileOf(Array.from({ length: 50 }, () => "{}")));
    expect(result.stderr.split("\n")).toHaveLength(22);
    expect(result.stderr).toContain("… and 30 more");
  });

  test("takes CRLF and no newline at the end", async () => {
    expect((await load("users", fileOf(bad.slice(0, 1).concat(bad.slice(5)), "\r\n"))).code).toBe(0);
  });

  test("with --snapshot ends every livestream that the file does not name", async () => {
    const result = await load("livestreams", fileOf(livestreams.slice(0, 1)), "--snapshot");
    expect(result).toMatchObject({ code: 0, stdout: "1 accepted, 0 rejected\n" });
    const reader = server ?? (await serve(["--data", data]));
    const { categories: shown } = (await (
      await client(reader).api("GET", "/public/v1/categories?limit=100")
    ).json()) as {
      categories: { viewers: number }[];
    };
    if (!server) await reader.end("SIGTERM");
    expect(shown.filter(({ viewers }) => viewers > 0)).toHaveLength(1);
  });
});

describe("onair import, wrong usage", () => {
  const file = () => fileOf(users);
  test.each<[string, () => string[], Record<string, string>, string]>([
    [
      "an unknown kind",
      () => ["people", file()],
      {},
      "the kind must be one of users, categories, channels, livestreams",
    ],
    ["no file", () => ["users"], {}, "the file is missing"],
    [
      "a file that does not exist",
      () => ["users", "/nowhere.ndjson"],
      {},
      "There is no file /nowhere.ndjson",
    ],
    ["a word too many", () => ["users", file(), "x"], {}, '"x" is not expected here'],
    ["an unknown option", () => ["users", file(), "--fast"], {}, "--fast"],
    ["both ways", () => ["users", file(), "--url", "http://x", "--data", "y"], {}, "exclude each other"],
    ["no key", () => ["users", file(), "--url", "http://127.0.0.1:9"], {}, "ONAIR_ADMIN_KEY"],
    ["a URL that is none", () => ["users", file(), "--url", "x"], {}, "--url must be an http URL"],
    ["--snapshot of users", () => ["users", file(), "--snapshot"], {}, "for livestreams only"],
  ])("%s ends with 2", async (_, args, env, message) => {
    const result = await run(["import", ...args()], { env });
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toContain(message);
  });
});

describe("onair import, failures", () => {
  test("a data directory in use names the process and nothing is changed", async () => {
    const data = join(directory.path, "busy");
    const server = await serve(["--data", data]);
    const result = await run(["import", "users", fileOf(users), "--data", data]);
    await server.end("SIGTERM");
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`in use by process ${server.pid}`);
    expect(result.stderr).toContain("--url");
  });

  test("a wrong key and a server that is not there are told", async () => {
    const server = await serve(["--data", join(directory.path, "keyed")]);
    const args = ["import", "users", fileOf(users), "--url", server.adminUrl];
    const wrong = await run(args, { env: { ONAIR_ADMIN_KEY: "wrong-key-entirely" } });
    await server.end("SIGTERM");
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("answered 401: The operator key is wrong");
    const gone = await run(args, { env: { ONAIR_ADMIN_KEY: adminKey } });
    expect(gone).toMatchObject({ code: 1, stdout: "" });
    expect(gone.stderr).toContain(new URL(server.adminUrl).origin);
  });
});

test("progress is a bar on a terminal and a plain line elsewhere", () => {
  const half = { bytes: 50, totalBytes: 100, items: 12_345 };
  expect(progressLine(half, 1_000, true)).toBe(
    "████████████░░░░░░░░░░░░  50 %  12,345 rows  12,345/s  1 s left",
  );
  expect(progressLine(half, 1_000, false)).toBe("50 %  12,345 rows  12,345/s");
  expect(progressLine({ bytes: 5e6, totalBytes: null, items: null }, 500, false)).toBe("5.0 MB  10.0 MB/s");
});
