import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { maxErrors } from "../../src/platform/batches.ts";
import { expectFailure, program, RunningCommand, run, untimed } from "../support/process.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import {
  adminKey,
  ndjson,
  ownServer,
  startServer,
  type TestServer,
  testDirectory,
} from "../support/server.ts";

const directory = testDirectory();
const env = { ONAIR_ADMIN_KEY: adminKey };

let count = 0;
/** A file of these lines. */
function fileOf(rows: readonly unknown[], separator = "\n"): string {
  const path = join(directory, `${++count}.ndjson`);
  writeFileSync(
    path,
    rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join(separator),
  );
  return path;
}

/** An import whose standard input is a pipe. */
const start = (...args: string[]) => new RunningCommand(["import", ...args], { env });

const bad = [
  { id: 1, username: "one" },
  '{"id": 2,',
  { id: 3, username: "search" },
  "",
  { id: 4, username: "ONE" },
  { id: 5, username: "five" },
];

describe.each(["into a data directory", "through a running server"])("onair import, %s", (way) => {
  const data = join(directory, way.replaceAll(" ", "-"));
  let server: TestServer | null = null;
  const to = () => (server ? ["--url", server.adminUrl] : ["--data", data]);
  const load = async (...args: string[]) => untimed(await run(["import", ...args, ...to()], { env }));

  beforeAll(async () => {
    if (way === "through a running server") server = await startServer({ data });
  });
  afterAll(() => server?.stop());

  test("accepts real users, categories, channels and livestreams, and the same rows again", async () => {
    for (let i = 0; i < 2; i++) {
      for (const [kind, rows] of Object.entries({ users, categories, channels, livestreams })) {
        const result = await load(kind, fileOf(rows));
        const ended = kind === "livestreams" ? ", 0 livestreams ended" : "";
        const stdout = `${rows.length} accepted, 0 rejected${ended}\n`;
        expect(result).toEqual({ code: 0, stdout, stderr: "" });
      }
    }
  });

  test("reports refused lines with number and reason, and keeps the rest", async () => {
    const result = await load("users", fileOf(bad));
    expect([result.code, result.stdout]).toEqual([1, "2 accepted, 3 rejected\n"]);
    expect(result.stderr.split("\n")).toEqual([
      "line 2: The line is not valid JSON",
      'line 3: username "search" is reserved, because it is a path of the public API',
      'line 5: username "ONE" is taken by user 1',
      "",
    ]);
  });

  test("is recorded in the audit log, a snapshot with its counts", async () => {
    expect((await load("livestreams", fileOf(livestreams), "--snapshot")).code).toBe(0);
    const { stdout } = await run(["audit", "--json", ...to()], { env });
    const { data } = JSON.parse(stdout) as {
      data: { action: string; object: string; accepted: number | null; ended: number | null }[];
    };
    expect(data.find(({ action }) => action === "putUsers")).toMatchObject({
      object: "users",
      accepted: null,
    });
    expect(data.find(({ accepted }) => accepted !== null)).toMatchObject({
      action: "putLivestreams",
      accepted: livestreams.length,
      ended: 0,
    });
  });

  test("with --snapshot ends every livestream that the file does not name", async () => {
    const snapshot = (rows: readonly unknown[], ...more: string[]) =>
      load("livestreams", fileOf(rows), "--snapshot", ...more);
    const more = Array.from({ length: 10 }, (_, i) => 900_001 + i);
    await load("users", fileOf(more.map((id) => ({ id, username: `more_${id}` }))));
    await load("channels", fileOf(more.map((id) => ({ id, user_id: id, slug: `more-${id}` }))));
    await load("livestreams", fileOf(more.map((channel_id) => ({ ...livestreams[0], channel_id }))));
    const all = livestreams.length + more.length;
    expect(await snapshot([])).toMatchObject({ code: 1, stdout: "" });
    const cut = await snapshot([livestreams[0], "{"]);
    expect([cut.code, cut.stdout]).toEqual([1, ""]);
    const share = `${all - 1} of ${all} livestreams`;
    expect(cut.stderr).toContain(`The snapshot would end ${share}, more than 50 %, so it has ended none.`);
    expect(cut.stderr).toContain("import it again with --confirm");
    expect(cut.stderr).toContain("line 2: The line is not valid JSON");
    const result = await snapshot(livestreams.slice(0, 1), "--confirm");
    const ended = `${all - 1} livestreams ended`;
    expect(result).toMatchObject({ code: 0, stdout: `1 accepted, 0 rejected, ${ended}\n` });
    const reader = server ?? (await startServer({ data }));
    const { categories: shown } = (await (await reader.get("/public/v1/categories?limit=100")).json()) as {
      categories: { viewers: number }[];
    };
    if (!server) await reader.stop();
    expect(shown.filter(({ viewers }) => viewers > 0)).toHaveLength(1);
  });
});

describe("onair import, a file", () => {
  const data = join(directory, "files");
  const load = async (...args: string[]) => untimed(await run(["import", ...args, "--data", data]));

  test("swaps the names of two users", async () => {
    const [first, second] = ["swapped_a", "swapped_b"];
    const rows = (...names: string[]) => fileOf(names.map((username, i) => ({ id: 78_001 + i, username })));
    expect((await load("users", rows(first, second))).code).toBe(0);
    const swapped = { code: 0, stdout: "2 accepted, 0 rejected\n", stderr: "" };
    for (let i = 0; i < 2; i++) expect(await load("users", rows(second, first))).toEqual(swapped);
  });

  test("counts rows that a later one with the same id replaces", async () => {
    const rows = ["first", "second", "third", "other"].map((username, i) => ({
      id: i < 3 ? 79_001 : 79_002,
      username: `repeated_${username}`,
    }));
    const stdout = "4 accepted, 0 rejected, duplicate ids: 2 (the last line of each counts)\n";
    expect(await load("users", fileOf(rows))).toEqual({ code: 0, stdout, stderr: "" });
  });

  test.each([
    ["users", "categories", categories],
    ["categories", "channels", [{ id: 1, user_id: 1001, slug: "own", name: "Own" }]],
    ["livestreams", "users", users],
  ])("refuses as %s a file of %s, and imports nothing", async (kind, other, rows) => {
    const file = fileOf(rows);
    const { code, stderr } = await load(kind, file);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`is one of ${other}, not of ${kind}`)]);
    expect(stderr).toContain(`onair import ${other} ${file}`);
  });

  test("ignores fields of another kind, if the row has fields of its own", async () => {
    const row = { id: 79_003, username: "with_more", slug: "with-more", name: "With More" };
    expect((await load("users", fileOf([row]))).stdout).toBe(
      "1 accepted, 0 rejected, 2 unknown fields ignored\n",
    );
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

  test("refuses a JSON array and a compressed file as a whole", async () => {
    const array = await load("users", fileOf(["[", '{"id": 77001, "username": "in_array"},', "]"]));
    expectFailure(array, 1, "is a JSON array");
    const packed = fileOf([]);
    writeFileSync(packed, Bun.gzipSync('{"id": 77001, "username": "in_array"}'));
    expectFailure(await load("users", packed), 1, "is compressed with gzip");
  });

  test.each<[string, string[], string]>([
    [
      "CSV",
      ["id,username", "1,maya"],
      "is not a JSON object. The file must be NDJSON, one object on each line",
    ],
    ["an empty file", [], "There are no lines in "],
    ["a file of blank lines", ["", " ", ""], "There are no lines in "],
  ])("tells what %s is", async (_, lines, note) => {
    const { code, stdout, stderr } = await load("users", fileOf(lines));
    const rejected = lines.filter((line) => line.trim() !== "").length;
    expect([code, stdout]).toEqual([rejected > 0 ? 1 : 0, `0 accepted, ${rejected} rejected\n`]);
    expect(stderr).toContain(note);
  });

  test("shows twenty refused lines and counts the rest", async () => {
    const result = await load("users", fileOf(Array.from({ length: 50 }, () => "{}")));
    expect(result.stderr.split("\n")).toHaveLength(22);
    expect(result.stderr).toContain("… and 30 more");
  });

  test("reads standard input", async () => {
    const importing = start("users", "-", "--data", data);
    importing.write('{"id": 31, "username": "from');
    importing.write('_stdin"}\n\n{"id": 32, "username": "from_stdin_too"}');
    expect(untimed(await importing.ended())).toEqual({
      code: 0,
      stdout: "2 accepted, 0 rejected\n",
      stderr: "",
    });
  });

  test("writes a long report into a pipe completely", async () => {
    const rows = Array.from({ length: maxErrors + 1 }, () => ({
      id: 0,
      username: "#",
      bio: 1,
      is_verified: 1,
    }));
    // In a process of its own, which has a pipe.
    const args = ["import", "users", fileOf(rows), "--json", "--data", data];
    const { stdout, code } = await run(args, { command: program });
    const { accepted, rejected, errors, interrupted } = JSON.parse(stdout);
    expect([code, accepted, rejected, errors.length, interrupted]).toEqual([1, 0, 1001, maxErrors, false]);
    expect(stdout.length).toBeGreaterThan(65_536);
  });
});

describe("onair import, wrong usage", () => {
  const file = () => fileOf(users);
  const never = join(directory, "never");
  test.each<[string, () => string[], Record<string, string>, string]>([
    ["no file", () => ["users"], {}, "The file is missing"],
    ["a missing file", () => ["users", "/nowhere.ndjson", "--data", never], {}, "There is no file"],
    ["a word too many", () => ["users", file(), "x"], {}, '"x" is not expected here'],
    ["both ways", () => ["users", file(), "--url", "http://x", "--data", "y"], {}, "exclude each other"],
    ["no key", () => ["users", file(), "--url", "http://127.0.0.1:9"], {}, "ONAIR_ADMIN_KEY"],
    ["a URL that is none", () => ["users", file(), "--url", "x"], {}, "--url must be an http or https URL"],
    [
      "--snapshot of users",
      () => ["users", file(), "--snapshot"],
      {},
      "--snapshot is not for users, but for livestreams",
    ],
    ["--confirm alone", () => ["livestreams", file(), "--confirm"], {}, "--confirm is only for --snapshot"],
  ])("%s ends with 2", async (_, args, env, message) => {
    expectFailure(await run(["import", ...args()], { env }), 2, message);
    expect(existsSync(never)).toBe(false);
  });
});

test("a directory in use, a wrong key, the public listener, a broken connection and an absent server are reported", async () => {
  const data = join(directory, "busy");
  const server = await startServer({ data });
  const load = (to: string[], key = adminKey) =>
    run(["import", "users", fileOf(users), ...to], { env: { ONAIR_ADMIN_KEY: key } });
  const inUse = await load(["--data", data]);
  expectFailure(inUse, 1, `in use by process ${process.pid}`);
  expect(inUse.stderr).toEndWith("name its admin listener with --url, and set ONAIR_ADMIN_KEY.\n");
  expect(inUse.stderr).toContain("--url");
  const to = ["--url", server.adminUrl];
  expectFailure(await load(to, "wrong-key-entirely"), 1, "answered 401: The operator key is wrong");
  expectFailure(await load(["--url", server.publicUrl]), 1, "--url must name the admin listener");
  await server.stop();
  expectFailure(await load(to), 1, new URL(server.adminUrl).origin);
  const breaking = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.terminate() },
  });
  expectFailure(await load(["--url", `http://127.0.0.1:${breaking.port}`]), 1, "broke off");
  breaking.stop(true);
});

/** Sends rows and half of another, waits until the import reports them, then sends Ctrl-C. */
async function stopped(rows: readonly unknown[], ...args: string[]) {
  const importing = start(...args);
  importing.write(`${ndjson(rows)}\n{"id": 5, "user`);
  await importing.shows(/ rows\/s$/);
  await importing.end("SIGINT");
  return untimed(await importing.ended());
}

test("Ctrl-C keeps and counts the accepted rows, and an incomplete snapshot ends no livestream", async () => {
  const data = join(directory, "stopped");
  const server = await ownServer();
  for (const [kind, rows] of Object.entries({ users, categories, channels, livestreams })) {
    expect((await run(["import", kind, fileOf(rows), "--url", server.adminUrl], { env })).code).toBe(0);
  }
  const some = users.slice(0, 3);
  const [direct, served, snapshot] = await Promise.all([
    stopped(some, "users", "-", "--data", data),
    stopped(some, "users", "-", "--url", server.adminUrl, "--json"),
    stopped(livestreams.slice(0, 1), "livestreams", "-", "--url", server.adminUrl, "--snapshot"),
  ]);
  expect([direct.code, direct.stdout]).toEqual([130, "3 accepted, 0 rejected; stopped before the end\n"]);
  expect(served.code).toBe(130);
  expect(JSON.parse(served.stdout)).toEqual({
    accepted: 3,
    rejected: 0,
    ignored_fields: 0,
    duplicate_ids: 0,
    errors: [],
    interrupted: true,
  });
  expect([snapshot.code, snapshot.stdout]).toEqual([130, ""]);
  expect(snapshot.stderr).toContain("no livestream was ended");
  const answer = await server.get("/public/v1/categories?limit=100");
  const { categories: shown } = (await answer.json()) as { categories: { viewers: number }[] };
  const live = new Set(livestreams.map(({ category_id }) => category_id));
  expect(shown.filter(({ viewers }) => viewers > 0)).toHaveLength(live.size);
}, 300_000);
