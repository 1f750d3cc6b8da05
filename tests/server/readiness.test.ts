import { Database } from "bun:sqlite";
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../src/store/sqlite/store.ts";
import { ownProcess, run, type ServerProcess } from "../support/process.ts";
import { ownDirectory, startServer, testDirectory } from "../support/server.ts";
import { canMount, SmallDisk } from "../support/small-disk.ts";
import { until } from "../support/until.ts";

const pageBytes = 4096;
let directory: string;
let server: ServerProcess;
beforeEach(() => {
  directory = ownDirectory();
});

const logFile = () => join(directory, "log");
const start = async (data: string) => {
  server = await ownProcess(["--data", data, "--log-level", "warn"], { log: logFile() });
};

async function readiness(): Promise<string> {
  const answer = await fetch(`${server.adminUrl}/readyz`);
  const { status, message } = (await answer.json()) as { status?: string; message?: string };
  return answer.status === 200 ? String(status) : `${answer.status} ${message}`;
}
const isReady = async () => (await readiness()) === "ready";
const events = () =>
  readFileSync(logFile(), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line).event);
const storageEvents = () => events().filter((event) => event.startsWith("storage_"));

const full = "503 The disk of the database is full: nothing can be written";

test.skipIf(!canMount)(
  "on a full disk the server is not ready and says why; the log says it once, and again when there is space",
  async () => {
    const disk = SmallDisk.own(16);
    await start(disk.data);
    const put = (id: number) => server.admin("PUT", `/admin/v1/users/${id}`, { username: `user_${id}` });
    expect(await readiness()).toBe("ready");
    expect((await put(1)).status).toBe(200);
    disk.fill();
    for (let id = 2; (await put(id)).status !== 503; id++) expect(id).toBeLessThan(20_000);
    await until(async () => (await readiness()) === full);
    for (let n = 0; n < 5; n++) {
      expect((await put(50_000)).status).toBe(503);
      expect(await readiness()).toBe(full);
    }
    expect((await fetch(`${server.adminUrl}/metrics`).then((answer) => answer.text())).split("\n")).toContain(
      "onair_ready 0",
    );
    disk.free();
    await until(isReady);
    expect((await put(50_000)).status).toBe(200);
    await until(() => storageEvents().length >= 2);
    expect(storageEvents()).toEqual(["storage_full", "storage_recovered"]);
    // No line for each probe.
    expect(events().filter((event) => event === "unavailable").length).toBeLessThan(10);
    // It is so without anything having been written, too.
    disk.fill();
    await until(async () => (await readiness()) === full);
  },
);

describe("a database that is damaged while it is served", () => {
  const damaged = "503 The database is damaged: stop the server and restore a backup";
  const data = () => join(directory, "data");
  const file = () => join(data(), "onair.db");
  const filled = testDirectory();
  let token: string;

  beforeAll(async () => {
    const users = Array.from({ length: 2_000 }, (_, i) => ({ id: i + 1, username: `user_${i + 1}` }));
    const first = await startServer({ data: filled, users });
    ({ token } = await first.application({ webhook_url: "https://receiver.example/hook" }));
    await first.stop();
    emptyLog(join(filled, "onair.db"));
  });

  const fill = () => cpSync(filled, data(), { recursive: true });

  /** Moves everything into the one file of the database. */
  function emptyLog(path: string): void {
    const db = new Database(path);
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
  }

  test("where a request comes upon it", async () => {
    fill();
    const content = readFileSync(file());
    for (let at = 0; at < content.length; at += pageBytes) {
      const page = content.subarray(at, at + pageBytes);
      if (page.includes("user_1500")) page.fill(0xff);
    }
    writeFileSync(file(), content);
    await start(data());
    expect(await readiness()).toBe("ready");
    expect((await server.get("/public/v1/users/user_1500", token)).status).toBe(500);
    expect(await readiness()).toBe(damaged);
    expect((await server.get("/public/v1/users/user_10", token)).status).toBe(200);
    expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
    await server.get("/public/v1/users/user_1500", token);
    await until(() => storageEvents().length > 0);
    expect(storageEvents()).toEqual(["storage_damaged"]);
  });

  test("where the engine comes upon it", async () => {
    fill();
    const db = new Database(file());
    const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'deliveries'";
    const at = ((db.query<{ rootpage: number }, []>(sql).get()?.rootpage ?? 0) - 1) * pageBytes;
    db.close();
    const content = readFileSync(file());
    writeFileSync(file(), content.fill(0xff, at, at + pageBytes));
    await start(data());
    await until(async () => (await readiness()) === damaged);
  });

  test("where nothing was read of it yet", async () => {
    await start(data());
    expect(await readiness()).toBe("ready");
    // Else the first page is in the log, where it does not show what happened to the file.
    emptyLog(file());
    const bytes = statSync(file()).size;
    // In place, as a disk would do it.
    await Bun.spawn(
      ["dd", "if=/dev/urandom", `of=${file()}`, "bs=1", `count=${Math.min(bytes, 4096)}`, "conv=notrunc"],
      {
        stderr: "ignore",
      },
    ).exited;
    await until(async () => (await readiness()).startsWith("503 The database is damaged"));
  });

  test("where its file is replaced", async () => {
    await start(data());
    renameSync(file(), `${file()}.moved`);
    writeFileSync(file(), "");
    await until(async () => (await readiness()).startsWith("503 A file of the database was removed"));
    await until(() => storageEvents().length > 0);
    expect(storageEvents()).toEqual(["storage_replaced"]);
  });

  const put = (id: number) => server.admin("PUT", `/admin/v1/users/${id}`, { username: `user_${id}` });

  test("where its file is removed, and nothing more is acknowledged or begun anew", async () => {
    await start(data());
    expect((await put(1)).status).toBe(200);
    rmSync(file());
    const refused = await put(2);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    const { message } = (await refused.json()) as { message: string };
    expect(message).toContain("until the operator has acted: ");
    expect(await readiness()).toStartWith("503 A file of the database was removed");
    expect(await readiness()).toContain("save the data before the server stops: docs/operating.md ");
    expect(await doctorSays()).toContain("process ");
    expect(await doctorSays()).toContain("save the data before the server stops: docs/operating.md ");
    expect(await server.end("SIGTERM")).toBe(0);
    const part =
      "has a part of a database that is missing: move that back, or move onair.db-wal away with all ";
    expect(() => openStore(data())).toThrow(part);
    expect(await doctorSays()).toContain("and restore a backup: onair restore");
    expect(existsSync(file())).toBe(false);
  });

  /** What `onair doctor` says of the directory when that is wrong, with the advice. */
  async function doctorSays() {
    const { stdout } = await run(["doctor", "--data", data(), "--port", "0", "--admin-port", "0"]);
    return /^WRONG {4}data directory .*\n.*/m.exec(stdout)?.[0];
  }

  test.skipIf(process.platform !== "linux")(
    "where its file is removed, and the documented commands keep all that was acknowledged",
    async () => {
      await start(data());
      expect((await put(1)).status).toBe(200);
      const { token } = await server.application();
      rmSync(file());
      expect((await put(2)).status).toBe(503);
      const section = readFileSync("docs/operating.md", "utf8").split("\n## A removed database\n")[1] ?? "";
      const [save = "", use = ""] = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block);
      // Without `onair`, which need not be installed, and `systemctl`.
      const inShell = (block: string) =>
        Bun.spawnSync(["bash", "-e", "-c", block.replaceAll(/^(onair|systemctl) .*$/gm, "")], {
          cwd: data(),
        });
      const saved = inShell(save.replace("/var/lib/onair", data()));
      expect([saved.exitCode, saved.stderr.toString()]).toEqual([0, ""]);
      expect(await server.end("SIGTERM")).toBe(0);
      const used = inShell(use);
      expect([used.exitCode, used.stderr.toString()]).toEqual([0, ""]);
      await start(data());
      const found = async (id: number) => (await server.get(`/public/v1/users/user_${id}`, token)).status;
      expect([await found(1), await found(2)]).toEqual([200, 404]);
    },
  );

  test("where its log is removed, and all that was acknowledged is kept when it stops", async () => {
    await start(data());
    expect((await put(1)).status).toBe(200);
    const { token } = await server.application();
    rmSync(`${file()}-wal`);
    expect((await put(2)).status).toBe(503);
    expect(await readiness()).toStartWith("503 A file of the database was removed");
    expect(await server.end("SIGTERM")).toBe(0);
    await start(data());
    const found = async (id: number) => (await server.get(`/public/v1/users/user_${id}`, token)).status;
    expect([await found(1), await found(2)]).toEqual([200, 404]);
  });
});
