import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { removePartials } from "../../../src/operations/backups/files.ts";
import { backupFiles, backupsPath, listedBackups, madeBackup } from "../../support/backups.ts";
import { ownDirectory, ownServer, startServer } from "../../support/server.ts";
import { canMount, SmallDisk } from "../../support/small-disk.ts";

const refused = (message: RegExp) => [503, { code: "unavailable", message: expect.stringMatching(message) }];

test("a data directory that was moved away: 503, and it is not created again", async () => {
  const data = join(ownDirectory(), "data");
  const server = await startServer({ isOnSqlite: true, data });
  try {
    await madeBackup(server);
    renameSync(data, `${data}-moved`);
    const answer = await server.admin("POST", backupsPath);
    expect([answer.status, await answer.json()]).toMatchObject(
      refused(
        /^The database .*onair\.db cannot be read \(ENOENT\), so there is no backup of it\. Put .* save the data before /,
      ),
    );
    expect(existsSync(data)).toBe(false);
  } finally {
    renameSync(`${data}-moved`, data);
    await server.stop();
  }
});

test("a partial file that cannot be removed keeps no other one", async () => {
  const directory = ownDirectory();
  const [first, second] = [1, 2].map((n) => `0${n}${"0".repeat(24)}.partial`) as [string, string];
  // A directory cannot be removed as a file.
  mkdirSync(join(directory, first));
  await Bun.write(join(directory, second), "");
  expect(await removePartials(directory).catch(String)).toContain(first);
  expect(readdirSync(directory)).toEqual([first]);
});

// Root may write to any directory, but not to a file system that is mounted read-only.
describe.skipIf(!canMount)("a directory that became read-only", () => {
  test("503 names it and says what to do; backups are deleted and made again when it is writable", async () => {
    const disk = SmallDisk.own(64);
    const to = join(disk.mount, "backups");
    const server = await ownServer({ isOnSqlite: true, data: ownDirectory(), args: ["--backup-to", to] });
    const first = await madeBackup(server);
    disk.makeReadOnly();
    const message = /^The directory of the backups, .*\/backups, cannot be used \(EROFS\)\. Give the user /;
    for (const [method, path] of [
      ["POST", backupsPath],
      ["DELETE", `${backupsPath}/${first.id}`],
    ] as const) {
      const answer = await server.admin(method, path);
      expect([answer.status, await answer.json()]).toMatchObject(refused(message));
    }
    expect((await listedBackups(server)).data).toMatchObject([{ id: first.id, status: "done" }]);
    Bun.spawnSync(["mount", "-o", "remount,rw", disk.mount]);
    expect((await server.admin("DELETE", `${backupsPath}/${first.id}`)).status).toBe(204);
    const second = await madeBackup(server);
    expect((await listedBackups(server)).data).toMatchObject([{ id: second.id }]);
    expect(backupFiles(disk.mount)).toHaveLength(1);
  });
});
