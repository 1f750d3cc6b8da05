import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { giveTables } from "../support/migrated.ts";
import { expectFailure, run } from "../support/process.ts";
import { ownDirectory } from "../support/server.ts";
import { canMount, fillDisk, SmallDisk } from "../support/small-disk.ts";

const users = 4_000;
const added = 2_000;

const lines = Array.from({ length: users }, (_, n) => ({ id: n + 1, username: `user${n}` }));

/** Makes a database with users in an empty directory. */
function giveUsers(directory: string): void {
  giveTables(directory);
  const db = new Database(join(directory, "onair.db"));
  const insert = db.query(
    "INSERT INTO users (id, username, display_name, bio, profile_picture, followers_count, following_count, is_verified, created_at) VALUES (?, ?, ?, '', '', 0, 0, 0, 0)",
  );
  db.transaction(() => {
    for (const { id, username } of lines) insert.run(id, username, `Number ${id}`);
  })();
  db.close();
}

/** Expects a whole database with these users. */
function expectWhole(data: string, count: number): void {
  const db = new Database(join(data, "onair.db"), { readwrite: true });
  expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  expect(db.query("SELECT count(*) AS count FROM users").get()).toEqual({ count });
  db.close();
}

describe.skipIf(!canMount)(
  "a disk that becomes full says what to do, and the same command works later",
  () => {
    let disk: SmallDisk;
    beforeEach(() => {
      disk = SmallDisk.own(32);
    });

    test.each([
      [
        "in an upgrade",
        ["migrate", "--rebuild-search"],
        users,
        /disk of the data directory .* is full \(SQLITE_FULL\)\. .* free some space there, then repeat this/,
      ],
      [
        "in an import",
        ["import", "users", "new.ndjson"],
        users + added,
        /disk of the storage is full.* it is safe to send all of it again/,
      ],
    ])("%s", async (_, args, count, told) => {
      const cwd = ownDirectory();
      const news = Array.from({ length: added }, (_, n) => ({ id: users + n + 1, username: `new${n}` }));
      await Bun.write(join(cwd, "new.ndjson"), news.map((line) => JSON.stringify(line)).join("\n"));
      giveUsers(disk.data);
      const command = [...args, "--data", disk.data];
      fillDisk(disk.mount, 1 / 8);
      const { code, stdout, stderr } = await run(command, { cwd });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(told);
      disk.free();
      expectWhole(disk.data, users);
      expect(await run(command, { cwd })).toMatchObject({ code: 0 });
      expectWhole(disk.data, count);
    });

    test("in a restore, which leaves nothing", async () => {
      const directory = ownDirectory();
      giveUsers(directory);
      const file = join(directory, "onair.db");
      fillDisk(disk.mount, 1 / 4);
      const command = ["restore", file, "--data", disk.data];
      const message = `${join(disk.data, "onair.restoring")}: the disk is full; free some space there, and try again`;
      expectFailure(await run(command), 1, message);
      disk.free();
      expect(await run(command)).toMatchObject({ code: 0 });
      expectWhole(disk.data, users);
    });
  },
);
