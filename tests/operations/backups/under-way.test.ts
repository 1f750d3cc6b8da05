import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  addBallast,
  backupFiles,
  backupsPath,
  beginBackup,
  downloadBackup,
  endOfBackup,
  listedBackups,
  type ShownBackup,
} from "../../support/backups.ts";
import { users } from "../../support/real-data.ts";
import { giveTables, json, ownDirectory, ownServer, type TestServer } from "../../support/server.ts";

// Backups while they are made, and of a database that is damaged.

let data: string;
let server: TestServer;
/** In a test: a server on the directory of the test. */
const start = async () => {
  server = await ownServer({ isOnSqlite: true, data });
};

/** A backup as it was seen again and again until its end. */
async function followed(id: string): Promise<ShownBackup[]> {
  const seen: ShownBackup[] = [];
  while (seen.length === 0 || seen.at(-1)?.status === "running")
    seen.push(await json<ShownBackup>(await server.admin("GET", `${backupsPath}/${id}`)));
  return seen;
}

test("a backup shows how far it is, and can be neither downloaded nor deleted before its end", async () => {
  data = ownDirectory();
  giveTables(data);
  addBallast(data, 30);
  await start();
  const { id } = await beginBackup(server);
  const one = `${backupsPath}/${id}`;
  for (const [method, rest] of [
    ["GET", "/content"],
    ["DELETE", ""],
  ] as const) {
    const answer = await server.admin(method, one + rest);
    expect([answer.status, await json<object>(answer)]).toMatchObject([409, { code: "conflict" }]);
  }
  expect((await listedBackups(server)).data).toMatchObject([{ id, status: "running" }]);
  const seen = await followed(id);
  expect(seen.at(-1)).toMatchObject({ status: "done", progress: 1 });
  expect(seen.map(({ progress }) => progress)).toEqual(seen.map(({ progress }) => progress).sort());
  await downloadBackup(server, seen.at(-1) as ShownBackup, join(data, "copy.db"));
  // On a busy machine one may be over between two looks.
  const onTheWay = ({ status, progress }: ShownBackup) =>
    status === "running" && progress > 0 && progress < 1;
  let found = seen.filter(onTheWay);
  for (let n = 0; n < 9 && found.length === 0; n++)
    found = (await followed((await beginBackup(server)).id)).filter(onTheWay);
  expect(found.length).toBeGreaterThan(0);
  expect(found.every(({ size_bytes, sha256 }) => size_bytes > 0 && sha256 === null)).toBe(true);
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
      // The beginning of a long one lies in one piece. Pages that are free may have earlier copies of it.
      const start = block.subarray(0, 200);
      expect(database.includes(start)).toBe(true);
      for (let at = database.indexOf(start); at !== -1; at = database.indexOf(start, at + 1))
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
  const { id } = await beginBackup(server);
  const failed = await endOfBackup(server, id);
  expect(failed).toMatchObject({ status: "failed", sha256: null, error: expect.stringContaining("damaged") });
  expect(failed.finished_at).not.toBeNull();
  expect(backupFiles(data)).toEqual([]);
  expect((await listedBackups(server)).data).toEqual([failed]);
  expect((await server.admin("GET", `${backupsPath}/${id}/content`)).status).toBe(409);
  expect((await server.admin("DELETE", `${backupsPath}/${id}`)).status).toBe(204);
  expect((await listedBackups(server)).data).toEqual([]);
});
