import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  backupFiles,
  backupsPath,
  beginBackup,
  endOfBackup,
  inDatabase,
  listedBackups,
  madeBackup,
  type ShownBackup,
  sha256,
} from "../../support/backups.ts";
import { users } from "../../support/real-data.ts";
import { Clock, json, ownDirectory, ownServer, refusal, type TestServer } from "../../support/server.ts";

let data: string;
let server: TestServer;
/** In a test: a server on the directory of the test. */
const start = async (args: string[] = []) => {
  server = await ownServer({ isOnSqlite: true, data, args });
};
const file = (name: string) => join(data, "backups", name);
const list = (query?: string) => listedBackups(server, query);

test.each([
  ["in a thread of its own", undefined],
  ["on the main thread", new Clock()],
])("with the engine %s, a backup is a whole database for its owner alone", async (_, clock) => {
  data = ownDirectory();
  server = await ownServer({ isOnSqlite: true, data, users, engineThread: true, clock });
  const begun = await beginBackup(server);
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
  if (clock) expect(created_at).toBe("2026-01-14T16:00:00.000Z");
  else expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(30_000);

  const path = () => file(backupFiles(data)[0] ?? "");
  const backup = await endOfBackup(server, id);
  expect(backup).toEqual({
    ...begun,
    status: "done",
    progress: 1,
    size_bytes: statSync(path()).size,
    sha256: sha256(readFileSync(path())),
    finished_at: time,
  });
  expect(backupFiles(data)).toEqual([`${id}.${backup.sha256}.db`]);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, "backups")).mode & 0o777).toBe(0o700);
  const count = inDatabase(path(), (db) => db.query("SELECT count(*) AS n FROM users").get());
  expect(count).toEqual({ n: users.length });
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
    for (let n = 0; n < 3; n++) made.unshift(await madeBackup(server));
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
      expect(await refusal(server.admin("GET", backupsPath + query))).toEqual([400, code]);
    }
  });

  test("one after the other: a second request is a conflict that names the first", async () => {
    const answers = await Promise.all([server.admin("POST", backupsPath), server.admin("POST", backupsPath)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    const bodies = await Promise.all(answers.map((answer) => json<{ id?: string; message: string }>(answer)));
    const id = bodies.find((body) => body.id)?.id ?? "";
    const refused = bodies.find((body) => !body.id);
    expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining(id) });
    expect((await endOfBackup(server, id)).status).toBe("done");
    expect((await madeBackup(server)).id > id).toBe(true);
  });

  test("a deleted backup is 404 from then on", async () => {
    const { id } = await madeBackup(server);
    const kept = await madeBackup(server);
    expect((await server.admin("DELETE", `${backupsPath}/${id}`)).status).toBe(204);
    for (const [method, rest] of [
      ["GET", ""],
      ["GET", "/content"],
      ["DELETE", ""],
    ] as const) {
      const answer = await server.admin(method, `${backupsPath}/${id}${rest}`);
      expect([answer.status, await json<object>(answer)]).toMatchObject([404, { code: "not_found" }]);
    }
    expect((await list()).data).toEqual([kept]);
    expect(backupFiles(data)).toHaveLength(1);
  });

  test("the newest are kept; older ones go when a new one is whole, and nothing else does", async () => {
    const strange = ["notes.txt", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD.db", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD.short.db"];
    await server.stop();
    await start(["--keep-backups", "2"]);
    const made = [await madeBackup(server)];
    for (const name of strange) writeFileSync(file(name), "mine");
    mkdirSync(file(`01KEYN5Z9V5Z8N1F4T7Y0XW3CD.${"0".repeat(64)}.db`));
    for (let n = 0; n < 3; n++) made.unshift(await madeBackup(server));
    expect((await list()).data).toEqual(made.slice(0, 2));
    const names = backupFiles(data);
    expect(names.filter((name) => !name.startsWith("01KEYN") && name !== "notes.txt")).toHaveLength(2);
    for (const name of strange) expect(readFileSync(file(name), "utf8")).toBe("mine");
  });
});
