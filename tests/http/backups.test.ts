import { Database } from "bun:sqlite";
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  type Admin,
  addBallast,
  backupFiles,
  backupsPath,
  beginBackup,
  downloadBackup,
  endOfBackup,
  inDatabase,
  madeBackup,
  type ShownBackup,
  sha256,
} from "../support/backups.ts";
import { giveTables } from "../support/migrated.ts";
import { users } from "../support/real-data.ts";
import {
  Clock,
  json,
  ownDirectory,
  ownServer,
  refusal,
  type TestServer,
  testDirectory,
} from "../support/server.ts";
import { until } from "../support/until.ts";

let data: string;
let server: TestServer;
const admin: Admin = (method, path) => server.admin(method, path);
/** In a test: a server on the directory of the test. */
const start = async (args: string[] = []) => {
  server = await ownServer({ isOnSqlite: true, data, args });
};
const file = (name: string) => join(data, "backups", name);
const list = async (query = "") =>
  json<{ data: ShownBackup[]; pagination: { cursor: string; has_more: boolean } }>(
    await admin("GET", backupsPath + query),
  );

/** What this process has open. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`, { encoding: "utf8" })];
    } catch {
      return []; // it was that of the listing itself
    }
  });
}

describe.each([
  ["in a thread of its own", undefined],
  ["on the main thread", new Clock()],
])("a backup with the engine %s", (_, clock) => {
  let begun: ShownBackup;
  let backup: ShownBackup;
  beforeEach(async () => {
    data = ownDirectory();
    server = await ownServer({ isOnSqlite: true, data, users, engineThread: true, clock });
    begun = await beginBackup(admin);
    backup = await endOfBackup(admin, begun.id);
  });

  test("runs at first, and is then done, with exactly these fields", () => {
    const time = expect.stringMatching(/^20..-..-..T..:..:..\....Z$/);
    const { id, created_at } = begun;
    expect(begun).toEqual({
      id: expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
      status: "running",
      progress: 0,
      size_bytes: 0,
      sha256: null,
      is_encrypted: false,
      error: null,
      created_at: time,
      finished_at: null,
    });
    expect(backup).toEqual({
      id,
      status: "done",
      progress: 1,
      size_bytes: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      is_encrypted: false,
      error: null,
      created_at,
      finished_at: time,
    });
    if (clock) expect(created_at).toBe("2026-01-14T16:00:00.000Z");
    else expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(30_000);
  });

  test("is a whole database with everything in it, for its owner alone", async () => {
    const names = backupFiles(data);
    expect(names).toEqual([`${backup.id}.${backup.sha256}.db`]);
    const path = file(names[0] ?? "");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(data, "backups")).mode & 0o777).toBe(0o700);
    expect(statSync(path).size).toBe(backup.size_bytes);
    expect(sha256(readFileSync(path))).toBe(backup.sha256 ?? "");
    const count = inDatabase(path, (db) => db.query("SELECT count(*) AS n FROM users").get());
    expect(count).toEqual({ n: users.length });
  });
});

describe("several backups", () => {
  beforeEach(async () => {
    data = ownDirectory();
    await start();
  });

  test("are listed with the newest first, page by page, across restarts", async () => {
    expect(await list()).toEqual({
      data: [],
      pagination: { cursor: "", has_more: false },
      message: "OK",
    } as never);
    const made: ShownBackup[] = [];
    for (let n = 0; n < 3; n++) made.unshift(await madeBackup(admin));
    await server.stop();
    await start();
    expect((await list()).data).toEqual(made);
    const first = await list("?limit=2");
    expect([first.data, first.pagination]).toEqual([
      made.slice(0, 2),
      { cursor: expect.stringMatching(/^[A-Za-z0-9_-]{96}$/), has_more: true },
    ]);
    const second = await list(`?limit=2&cursor=${first.pagination.cursor}`);
    expect([second.data, second.pagination]).toEqual([made.slice(2), { cursor: "", has_more: false }]);
    for (const [query, code] of [
      ["?cursor=x", "invalid_cursor"],
      ["?limit=0", "invalid_parameter"],
      ["?limit=101", "invalid_parameter"],
    ] as const) {
      expect(await refusal(admin("GET", backupsPath + query))).toEqual([400, code]);
    }
  });

  test("one after the other: a second request is a conflict that names the first", async () => {
    const answers = await Promise.all([admin("POST", backupsPath), admin("POST", backupsPath)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    const bodies = await Promise.all(answers.map((answer) => json<{ id?: string; message: string }>(answer)));
    const id = bodies.find((body) => body.id)?.id ?? "";
    const refused = bodies.find((body) => !body.id);
    expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining(id) });
    expect((await endOfBackup(admin, id)).status).toBe("done");
    expect((await madeBackup(admin)).id > id).toBe(true);
  });

  test("one that is deleted is gone; a second time there is nothing", async () => {
    const { id } = await madeBackup(admin);
    const kept = await madeBackup(admin);
    expect((await admin("DELETE", `${backupsPath}/${id}`)).status).toBe(204);
    for (const [method, rest] of [
      ["GET", ""],
      ["GET", "/content"],
      ["DELETE", ""],
    ] as const) {
      const answer = await admin(method, `${backupsPath}/${id}${rest}`);
      expect([answer.status, await json<object>(answer)]).toMatchObject([404, { code: "not_found" }]);
    }
    expect((await list()).data).toEqual([kept]);
    expect(backupFiles(data)).toHaveLength(1);
  });

  test("the newest are kept; older ones go when a new one is whole, and nothing else does", async () => {
    const strange = ["notes.txt", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD.db", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD.short.db"];
    await server.stop();
    await start(["--keep-backups", "2"]);
    const made = [await madeBackup(admin)];
    for (const name of strange) writeFileSync(file(name), "mine");
    mkdirSync(file(`01KEYN5Z9V5Z8N1F4T7Y0XW3CD.${"0".repeat(64)}.db`));
    for (let n = 0; n < 3; n++) made.unshift(await madeBackup(admin));
    expect((await list()).data).toEqual(made.slice(0, 2));
    const names = backupFiles(data);
    expect(names.filter((name) => !name.startsWith("01KEYN") && name !== "notes.txt")).toHaveLength(2);
    for (const name of strange) expect(readFileSync(file(name), "utf8")).toBe("mine");
  });
});

/** A backup as it was seen again and again until its end. */
async function followed(id: string): Promise<ShownBackup[]> {
  const seen: ShownBackup[] = [];
  while (seen.length === 0 || seen.at(-1)?.status === "running")
    seen.push(await json<ShownBackup>(await admin("GET", `${backupsPath}/${id}`)));
  return seen;
}

describe("of a large database", () => {
  const large = testDirectory();
  beforeAll(() => {
    giveTables(large);
    addBallast(large, 60);
  });
  beforeEach(async () => {
    data = ownDirectory();
    copyFileSync(join(large, "onair.db"), join(data, "onair.db"));
    await start();
  });

  test("it shows how far it is, and can be neither downloaded nor deleted", async () => {
    const { id } = await beginBackup(admin);
    const one = `${backupsPath}/${id}`;
    for (const [method, rest] of [
      ["GET", "/content"],
      ["DELETE", ""],
    ] as const) {
      const answer = await admin(method, one + rest);
      expect([answer.status, await json<object>(answer)]).toMatchObject([409, { code: "conflict" }]);
    }
    expect((await list()).data).toMatchObject([{ id, status: "running" }]);
    const seen = await followed(id);
    expect(seen.at(-1)).toMatchObject({ status: "done", progress: 1 });
    expect(seen.map(({ progress }) => progress)).toEqual(seen.map(({ progress }) => progress).sort());
    await downloadBackup(admin, seen.at(-1) as ShownBackup, join(data, "copy.db"));
    // On a busy machine one may be over between two looks.
    const onTheWay = ({ status, progress }: ShownBackup) =>
      status === "running" && progress > 0 && progress < 1;
    let found = seen.filter(onTheWay);
    for (let n = 0; n < 9 && found.length === 0; n++)
      found = (await followed((await beginBackup(admin)).id)).filter(onTheWay);
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ size_bytes, sha256 }) => size_bytes > 0 && sha256 === null)).toBe(true);
  });

  test.skipIf(process.platform !== "linux")("a client that goes away leaves no file open", async () => {
    const { id } = await madeBackup(admin);
    const open = () => openFiles().filter((path) => path.includes(id)).length;
    const readers = await Promise.all(
      Array.from({ length: 8 }, async () =>
        (await admin("GET", `${backupsPath}/${id}/content`)).body?.getReader(),
      ),
    );
    for (const reader of readers) expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    expect(open()).toBe(8);
    for (const reader of readers) await reader?.cancel();
    await until(() => open() === 0);
  });

  test("a server that stops does not wait for it, and leaves nothing of it", async () => {
    const { id } = await beginBackup(admin);
    await server.stop();
    await start();
    // A stop that waited would have kept it.
    expect(backupFiles(data)).toEqual([]);
    expect((await admin("GET", `${backupsPath}/${id}`)).status).toBe(404);
    expect((await madeBackup(admin)).size_bytes).toBeGreaterThan(60e6);
  });
});

test.each<[string, (path: string) => void]>([
  [
    "a page",
    (path) => {
      const database = readFileSync(path);
      database.fill(0xff, database.length >> 1, (database.length >> 1) + 3 * 4096);
      writeFileSync(path, database);
    },
  ],
  [
    "the search index, which would be copied as it is",
    (path) => {
      const db = new Database(path, { readonly: true });
      // Its largest node; as SQLite would not let itself be told to damage it, that is done to the file.
      const sql = "SELECT block FROM user_search_data ORDER BY length(block) DESC LIMIT 1";
      const block = Buffer.from(db.query<{ block: Uint8Array }, []>(sql).get()?.block ?? "none");
      db.close();
      const database = readFileSync(path);
      // The beginning of a long one lies in one piece.
      const at = database.indexOf(block.subarray(0, 200));
      expect(at).toBeGreaterThan(0);
      database.fill(0x7f, at + 20, at + 180);
      writeFileSync(path, database);
    },
  ],
])("damaged is %s: that is told, and no backup of it shows up as done", async (_, damage) => {
  data = ownDirectory();
  await (await ownServer({ isOnSqlite: true, data, users })).stop();
  addBallast(data, 4);
  damage(join(data, "onair.db"));
  await start();
  const { id } = await beginBackup(admin);
  const failed = await endOfBackup(admin, id);
  expect(failed).toMatchObject({ status: "failed", sha256: null, error: expect.stringContaining("damaged") });
  expect(failed.finished_at).not.toBeNull();
  expect(backupFiles(data)).toEqual([]);
  expect((await list()).data).toEqual([failed]);
  expect((await admin("GET", `${backupsPath}/${id}/content`)).status).toBe(409);
  expect((await admin("DELETE", `${backupsPath}/${id}`)).status).toBe(204);
  expect((await list()).data).toEqual([]);
});
