import { beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dataIdOf } from "../../../src/domain/store.ts";
import { Backups } from "../../../src/operations/backups/backups.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { addBallast, backupFiles, backupsPath, madeBackup } from "../../support/backups.ts";
import { run } from "../../support/process.ts";
import { giveTables, json, ownDirectory, ownServer, type TestServer } from "../../support/server.ts";
import { canMount, SmallDisk } from "../../support/small-disk.ts";
import { until } from "../../support/until.ts";

describe.skipIf(!canMount)("on a full disk", () => {
  let disk: SmallDisk;
  let server: TestServer;

  beforeEach(() => {
    disk = SmallDisk.own(128);
  });
  const start = async () => {
    giveTables(disk.data);
    addBallast(disk.data, 24);
    server = await ownServer({ engineThread: true, data: disk.data });
  };

  const expectHealthy = async () => {
    expect((await server.admin("PUT", "/admin/v1/users/7", { username: "maya" })).status).toBe(200);
    expect((await madeBackup(server)).size_bytes).toBeGreaterThan(24e6);
  };

  const noticed = async () => {
    const { data } = await json<{ data: { type: string }[] }>(await server.admin("GET", "/admin/v1/notices"));
    return data.map(({ type }) => type);
  };

  test("no backup starts: 503 says how much space it needs, and the server continues", async () => {
    await start();
    disk.fill();
    const answer = await server.admin("POST", backupsPath);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await json<object>(answer)).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(
        /^Not enough disk space for a backup: it may need \d\d MB and 0 MB are free in .*\/data\./,
      ),
    });
    expect(backupFiles(disk.data)).toEqual([]);
    expect(await json<object>(await server.admin("GET", backupsPath))).toMatchObject({ data: [] });
    disk.free();
    await expectHealthy();
    // The notice was stored, although nothing could be written at that time.
    await until(async () => (await noticed()).includes("backup.failed"));
  });

  test("a running backup fails, is reported, and leaves no partial file", async () => {
    await start();
    const notices: string[] = [];
    const backups = new Backups({
      announce: (type, { summary }) => void notices.push(`${type}: ${summary}`),
      data: disk.data,
      dataId: () => dataIdOf(server.app.engine.store),
      destination: { kind: "directory", directory: join(disk.data, "backups") },
      recipients: [],
      everyMs: null,
      keep: 3,
      keepDays: null,
      program: new URL("./fixtures/full-disk-worker.ts", import.meta.url).href,
      now: Date.now,
      log: createLog("off"),
    });
    const { id } = await backups.begin();
    await until(async () => (await backups.find(id)).status !== "running");
    expect(await backups.find(id)).toMatchObject({
      status: "failed",
      sha256: null,
      error: expect.stringContaining("Not enough disk space for a backup: the disk became full"),
    });
    expect(notices).toEqual([
      expect.stringMatching(/^backup.failed: .*Not enough disk space for a backup: the disk became full/),
    ]);
    expect(backupFiles(disk.data)).toEqual([]);
    disk.free();
    await expectHealthy();
  });

  test("the same holds for a full disk of --backup-to: the server continues, and the next backup is complete", async () => {
    const directory = join(disk.data, "..", "elsewhere");
    const data = ownDirectory();
    const elsewhere = await ownServer({
      engineThread: true,
      isOnSqlite: true,
      data,
      args: ["--backup-to", directory],
    });
    expect((await madeBackup(elsewhere)).status).toBe("done");
    const ports = [
      "--port",
      new URL(elsewhere.publicUrl).port,
      "--admin-port",
      new URL(elsewhere.adminUrl).port,
    ];
    const asked = ["doctor", "--data", data, ...ports, "--backup-every", "24h", "--backup-to", directory];
    expect((await run(asked)).stdout).not.toContain("not enough space");
    disk.fill();
    // The doctor reports it before a backup is due.
    expect((await run(asked)).stdout).toMatch(
      /^warning +backups +there is not enough space for the next backup: it may need \d\d MB and 0 MB are free in /m,
    );
    const answer = await elsewhere.admin("POST", backupsPath);
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("0 MB are free")]);
    expect((await elsewhere.admin("PUT", "/admin/v1/users/7", { username: "maya" })).status).toBe(200);
    disk.free();
    expect((await madeBackup(elsewhere)).status).toBe("done");
    expect(readdirSync(directory).filter((name) => name.endsWith(".db"))).toHaveLength(2);
  });
});
