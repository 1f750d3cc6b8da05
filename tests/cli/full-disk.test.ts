import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { randomText } from "../support/bodies.ts";
import { expectFailure, program, run } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { giveTables, ndjson, ownDirectory } from "../support/server.ts";
import { canMount, fillDisk, SmallDisk } from "../support/small-disk.ts";
import { emptyStore, newEvent, subscriber } from "../support/store.ts";

const manyUsers = 4_000;
const added = 2_000;

const lines = Array.from({ length: manyUsers }, (_, n) => ({ id: n + 1, username: `user${n}` }));

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
        manyUsers,
        /disk of the data directory .* is full \(SQLITE_FULL\)\. .* free some space there, then repeat this/,
      ],
      [
        "in an import",
        ["import", "users", "new.ndjson"],
        manyUsers + added,
        /disk of the storage is full.* it is safe to send all of it again/,
      ],
    ])("%s", async (_, args, count, told) => {
      const cwd = ownDirectory();
      const news = Array.from({ length: added }, (_, n) => ({ id: manyUsers + n + 1, username: `new${n}` }));
      await Bun.write(join(cwd, "new.ndjson"), news.map((line) => JSON.stringify(line)).join("\n"));
      giveUsers(disk.data);
      const command = [...args, "--data", disk.data];
      fillDisk(disk.mount, 1 / 8);
      const { code, stdout, stderr } = await run(command, { cwd });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(told);
      disk.free();
      expectWhole(disk.data, manyUsers);
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
      expectWhole(disk.data, manyUsers);
    });
  },
);

/**
 * Runs commands one after the other in a mount namespace where only this directory can be written to: not even the
 * directories for temporary files, as in a container with a read-only root.
 */
async function runReadOnly(writable: string, commands: readonly (readonly string[])[]) {
  const quoted = (word: string) => `'${word}'`;
  const script = `set -e
    for place in /tmp /var/tmp /dev/shm; do
      mount --bind $place $place; mount -o remount,bind,ro $place
    done
    mount --bind ${writable} ${writable}; mount -o remount,bind,rw ${writable}
    cd /proc
    ! touch /tmp/onair-test-probe 2>/dev/null
    ${commands.map((words) => [...program, ...words].map(quoted).join(" ")).join("\n")}`;
  const child = Bun.spawn(["unshare", "-m", "bash", "-c", script], {
    env: { PATH: process.env["PATH"], ONAIR_LOG_LEVEL: "error" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

test.skipIf(!canMount)(
  "a writable data directory is enough for a first start, an import, a backup and its restore",
  async () => {
    const directory = ownDirectory();
    const [data, restored, rows] = ["data", "restored", "users.ndjson"].map((name) =>
      join(directory, name),
    ) as [string, string, string];
    mkdirSync(join(directory, "kept"));
    await Bun.write(rows, ndjson(users));
    const on = ["--data", data];
    const { code, stderr, stdout } = await runReadOnly(directory, [
      ["import", "users", rows, ...on],
      ["migrate", "--rebuild-search", ...on],
      ["migrate", "--backup", join(directory, "kept/one.db"), ...on],
      ["restore", join(directory, "kept/one.db"), "--data", restored],
      ["doctor", "--full", "--data", restored, "--port", "0", "--admin-port", "0"],
    ]);
    expect([code, stderr.includes("SQLITE")]).toEqual([0, false]);
    expect(stdout).toContain(`${users.length} accepted, 0 rejected`);
  },
  60_000,
);

test.skipIf(!canMount)(
  "staged events that a full disk keeps in their slots are not left out of a copy",
  async () => {
    const { store, path } = emptyStore();
    await subscriber(store);
    await store.deliveries.releaseAll();
    for (let n = 0; n < 200; n++)
      await store.events.publish(newEvent(`${n}`, { body: randomText(3_000) }), () => true);
    // As `kill -9` leaves it.
    const disk = SmallDisk.own(16);
    cpSync(path, disk.data, { recursive: true });
    fillDisk(disk.mount, 1 / 16);
    const [full, free] = [1, 2].map((n) => [
      "copy",
      "--from",
      disk.data,
      "--to",
      join(ownDirectory(), `${n}`),
    ]);
    expectFailure(await run(full ?? []), 1, "is full (SQLITE_FULL)");
    disk.free();
    expect(await run(free ?? [])).toMatchObject({ code: 0 });
    const copied = new Database(join(free?.at(-1) ?? "", "onair.db"), { readonly: true });
    expect(copied.query("SELECT count(*) AS count FROM deliveries").get()).toEqual({ count: 200 });
    copied.close();
  },
);
