import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { maxErrors, maxLineBytes } from "../../src/platform/batches.ts";
import {
  expectFailure,
  RunningCommand,
  run,
  type ServerProcess,
  serve,
  untimed,
} from "../support/process.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { adminKey, ndjson, testDirectory } from "../support/server.ts";

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
  let server: ServerProcess | null = null;
  const to = () => (server ? ["--url", server.adminUrl] : ["--data", data]);
  const load = async (...args: string[]) => untimed(await run(["import", ...args, ...to()], { env }));

  beforeAll(async () => {
    if (way === "through a running server") server = await serve(["--data", data]);
  });
  afterAll(async () => {
    await server?.end("SIGTERM");
  });

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
    const live = [livestreams[0], livestreams[0]];
    expect(JSON.parse((await load("livestreams", fileOf(live), "--json")).stdout)).toMatchObject({
      accepted: 2,
      duplicate_ids: 1,
    });
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

  test("prints the report as JSON", async () => {
    const result = await load("users", fileOf(bad), "--json");
    expect([result.code, result.stderr]).toEqual([1, ""]);
    expect(JSON.parse(result.stdout)).toMatchObject({
      accepted: 2,
      rejected: 3,
      errors: [{ line: 2 }, {}, {}],
    });
  });

  test("refuses invalid UTF-8, lines over the limit and deep nesting, and keeps the rest", async () => {
    const path = fileOf([]);
    const lines = [
      '{"id": 21, "username": "long", "bio": "',
      "x".repeat(maxLineBytes),
      '"}\n{"id": 22, "username": "good"}\n{"id": 23, "username": "bad", "bio": "',
      new Uint8Array([0xc3, 0x28]),
      `"}\n${"[".repeat(10_000)}\n{"id": 24, "username": "nul\\u0000"}\n{"id": 25, "username": "last"}`,
    ];
    writeFileSync(path, Buffer.concat(lines.map((line) => Buffer.from(line))));
    const result = await load("users", path);
    expect([result.code, result.stdout]).toEqual([1, "2 accepted, 4 rejected\n"]);
    expect(result.stderr.split("\n")).toEqual([
      "line 1: The line is longer than 262144 bytes",
      "line 3: The line is not valid UTF-8",
      "line 4: The line must not be nested more than 64 deep",
      "line 5: username must be 1 to 64 of the characters A-Z a-z 0-9 _ -",
      "",
    ]);
  });

  test("refuses references to unknown users", async () => {
    const channel = { id: 9001, user_id: 4_000_000, slug: "nobody" };
    const first = await load("channels", fileOf([channel]));
    expect([first.code, first.stderr]).toEqual([
      1,
      "line 1: user_id 4000000 is not a known user: import users first\n",
    ]);
    const second = await load("livestreams", fileOf([{ channel_id: 9001, category_id: 1, viewers: 1 }]));
    expect([second.code, second.stderr]).toEqual([1, "line 1: channel_id 9001 is not a known channel\n"]);
  });

  test("writes a long report into a pipe completely", async () => {
    const rows = Array.from({ length: maxErrors + 1 }, () => ({
      id: 0,
      username: "#",
      bio: 1,
      is_verified: 1,
    }));
    const { stdout, code } = await load("users", fileOf(rows), "--json");
    const { accepted, rejected, errors, interrupted } = JSON.parse(stdout);
    expect([code, accepted, rejected, errors.length, interrupted]).toEqual([1, 0, 1001, maxErrors, false]);
    expect(stdout.length).toBeGreaterThan(65_536);
  });

  test("refuses a JSON array and a compressed file as a whole", async () => {
    const array = await load("users", fileOf(["[", '{"id": 77001, "username": "in_array"},', "]"]));
    expectFailure(array, 1, "is a JSON array");
    const packed = fileOf([]);
    writeFileSync(packed, Bun.gzipSync('{"id": 77001, "username": "in_array"}'));
    expectFailure(await load("users", packed), 1, "is compressed with gzip");
  });

  test("reads standard input", async () => {
    const importing = start("users", "-", ...to());
    importing.write('{"id": 31, "username": "from');
    importing.write('_stdin"}\n\n{"id": 32, "username": "from_stdin_too"}');
    expect(untimed(await importing.ended())).toEqual({
      code: 0,
      stdout: "2 accepted, 0 rejected\n",
      stderr: "",
    });
  });

  test("shows twenty refused lines and counts the rest", async () => {
    const result = await load("users", fileOf(Array.from({ length: 50 }, () => "{}")));
    expect(result.stderr.split("\n")).toHaveLength(22);
    expect(result.stderr).toContain("… and 30 more");
  });

  test("accepts CRLF and a last line without a newline", async () => {
    expect((await load("users", fileOf(bad.slice(0, 1).concat(bad.slice(5)), "\r\n"))).code).toBe(0);
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
    const reader = server ?? (await serve(["--data", data]));
    const { categories: shown } = (await (await reader.get("/public/v1/categories?limit=100")).json()) as {
      categories: { viewers: number }[];
    };
    if (!server) await reader.end("SIGTERM");
    expect(shown.filter(({ viewers }) => viewers > 0)).toHaveLength(1);
  });
});

describe("onair import, wrong usage", () => {
  const file = () => fileOf(users);
  test.each<[string, () => string[], Record<string, string>, string]>([
    ["no file", () => ["users"], {}, "The file is missing"],
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
  });
});

describe("onair import, failures", () => {
  test("for a data directory in use the error names the process, and nothing is changed", async () => {
    const data = join(directory, "busy");
    const server = await serve(["--data", data]);
    const result = await run(["import", "users", fileOf(users), "--data", data]);
    await server.end("SIGTERM");
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`in use by process ${server.pid}`);
    expect(result.stderr).toContain("--url");
  });

  test("a wrong key and a server that does not answer are reported", async () => {
    const server = await serve(["--data", join(directory, "keyed")]);
    const args = ["import", "users", fileOf(users), "--url", server.adminUrl];
    const wrong = await run(args, { env: { ONAIR_ADMIN_KEY: "wrong-key-entirely" } });
    await server.end("SIGTERM");
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("answered 401: The operator key is wrong");
    const gone = await run(args, { env });
    expect(gone).toMatchObject({ code: 1, stdout: "" });
    expect(gone.stderr).toContain(new URL(server.adminUrl).origin);
  });
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
  const server = await serve(["--data", join(directory, "stopped-server")]);
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
  await server.end("SIGTERM");
}, 300_000);

test("for a missing file no data directory is created", async () => {
  const data = join(directory, "never");
  expect((await run(["import", "users", "/nowhere.ndjson", "--data", data])).code).toBe(2);
  expect(existsSync(data)).toBe(false);
});

test("a broken connection and the address of another program are reported", async () => {
  const breaking = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.terminate() },
  });
  const server = await serve(["--data", join(directory, "other")]);
  const load = (url: string) => run(["import", "users", fileOf(users), "--url", url], { env });
  expectFailure(await load(`http://127.0.0.1:${breaking.port}`), 1, "broke off");
  expectFailure(await load(server.publicUrl), 1, "--url must name the admin listener");
  breaking.stop(true);
  await server.end("SIGTERM");
});
