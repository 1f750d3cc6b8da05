import { beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import {
  addBallast,
  backupsPath,
  beginBackup,
  downloadBackup,
  endOfBackup,
  listedBackups,
  madeBackup,
  type ShownBackup,
} from "../../support/backups.ts";
import { ownProcess, type ServerProcess, serve } from "../../support/process.ts";
import { adminKey, ownDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

let directory: string;
let server: ServerProcess;
const path = (name: string) => join(directory, name);

beforeEach(async () => {
  directory = ownDirectory();
  const options = ["--data", path("data"), "--keep-backups", "2"];
  await (await serve(options)).end("SIGTERM");
  addBallast(path("data"), 12);
  server = await ownProcess(options, { log: path("log") });
});

/** The number of backup files that the server has open, deleted ones included. */
function openBackups(): number {
  const names = readdirSync(`/proc/${server.pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${server.pid}/fd/${fd}`, { encoding: "utf8" });
    } catch {
      return ""; // closed between the two looks
    }
  });
  return names.filter((name) => name.includes("/backups/")).length;
}

/** How a client disconnects: after this many bytes and a pause without reading, by a reset or an orderly end. */
interface Leaving {
  readonly afterBytes: number;
  readonly byReset: boolean;
  readonly idleMs: number;
  readonly requests: number;
}

/** Requests the content of a backup and disconnects. Resolves when the connection is closed. */
function leavingClient(backup: ShownBackup, range: string, leaving: Leaving): Promise<void> {
  const { afterBytes, byReset, idleMs, requests } = leaving;
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(server.adminUrl).port) });
    let received = 0;
    const leave = () => (byReset ? socket.resetAndDestroy() : socket.destroy());
    const enough = () => {
      if (received < afterBytes) return;
      socket.pause();
      setTimeout(leave, idleMs);
    };
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.on("data", (bytes) => {
      received += bytes.length;
      enough();
    });
    socket.on("connect", () => {
      const head = `GET ${backupsPath}/${backup.id}/content HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminKey}\r\n`;
      socket.write(`${head}${range === "" ? "" : `Range: ${range}\r\n`}\r\n`.repeat(requests));
      enough();
    });
  });
}

const ways: readonly Leaving[] = [0, 1, 700_000].flatMap((afterBytes) =>
  [true, false].flatMap((byReset) =>
    [0, 25].flatMap((idleMs) =>
      [1, 3].map((requests): Leaving => ({ afterBytes, byReset, idleMs, requests })),
    ),
  ),
);
const ranges = ["", "bytes=5000-", "bytes=-900000", "bytes=1000000-2000000"];

test.skipIf(process.platform !== "linux")(
  "clients that abort a download in any way leak no file and affect no other request, also when its backup is deleted",
  async () => {
    let backup = await madeBackup(server);
    let isOver = false;
    let reads = 0;
    const reading = (async () => {
      while (!isOver) {
        expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
        reads++;
      }
    })();
    const changing = (async () => {
      while (!isOver) {
        const next = await madeBackup(server);
        const old = backup;
        backup = next;
        expect([204, 404]).toContain((await server.admin("DELETE", `${backupsPath}/${old.id}`)).status);
      }
    })();
    for (const range of ranges) {
      await Promise.all(ways.map((way) => leavingClient(backup, range, way)));
      await Promise.all(ways.map(async (way) => leavingClient(backup, range, way)));
    }
    isOver = true;
    await Promise.all([reading, changing]);
    expect(reads).toBeGreaterThan(10);
    await until(() => openBackups() === 0);
    await downloadBackup(server, await madeBackup(server), path("copy.db"));
    // The last ones disconnect while the server stops and another backup is made.
    const leaving = ways.map((way) => leavingClient(backup, "", { ...way, idleMs: way.idleMs * 10 }));
    await beginBackup(server);
    const ending = server.end("SIGTERM");
    await Promise.all(leaving);
    expect(await ending).toBe(0);
    expect(readFileSync(path("log"), "utf8")).toBe("");
  },
);

test("when the destination is lost, such as a removed disk, backups fail and the server continues", async () => {
  await madeBackup(server);
  rmSync(path("data/backups"), { recursive: true });
  writeFileSync(path("data/backups"), "not a directory");
  const answer = await server.admin("POST", backupsPath);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining(path("data/backups"))]);
  await until(() => readFileSync(path("log"), "utf8").includes("unavailable"));
  expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
  expect((await server.admin("PUT", "/admin/v1/users/7")).status).toBe(400);
  rmSync(path("data/backups"));
  expect((await listedBackups(server)).data).toEqual([]);
  expect((await endOfBackup(server, (await beginBackup(server)).id)).status).toBe("done");
  expect(await server.end("SIGTERM")).toBe(0);
});
