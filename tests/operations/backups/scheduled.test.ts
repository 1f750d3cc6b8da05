import { describe, expect, spyOn, test } from "bun:test";
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { newId } from "../../../src/domain/ids.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import { BackupRun, Backups } from "../../../src/operations/backups/backups.ts";
import {
  type AwsVariables,
  ownerFile,
  readDestination,
} from "../../../src/operations/backups/destination.ts";
import { DirectoryCalls } from "../../../src/operations/backups/directory-calls.ts";
import { inTime } from "../../../src/runtime/event-loop.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import {
  backupFiles,
  backupsPath,
  beginBackup,
  downloadBackup,
  endOfBackup,
  inDatabase,
  madeBackup,
  type ShownBackup,
} from "../../support/backups.ts";
import { FakeS3 } from "../../support/fake-s3.ts";
import { keptLog } from "../../support/log.ts";
import { run } from "../../support/process.ts";
import { users } from "../../support/real-data.ts";
import { Clock, json, ownDirectory, ownServer, type TestServer } from "../../support/server.ts";
import { canHang, hangFor } from "../../support/small-disk.ts";
import { until } from "../../support/until.ts";

// Scheduled backups, and destinations outside the data directory, with a real server.

const aws: AwsVariables = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
const list = async (server: TestServer) =>
  (await json<{ data: ShownBackup[] }>(await server.admin("GET", backupsPath))).data;

/** The metrics of backups. */
async function metrics(server: TestServer): Promise<Record<string, number>> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => /^onair_(last_)?backup/.test(line));
  return Object.fromEntries(
    lines.map((line): [string, number] => {
      const [name = "", value = ""] = line.split(" ");
      return [name.replace("onair_", ""), Number(value)];
    }),
  );
}

/** Checks the schedule once, and waits for the backup that this starts. */
async function looked(server: TestServer): Promise<ShownBackup[]> {
  await server.app.backups.check();
  await until(async () => (await list(server)).every(({ status }) => status !== "running"));
  return list(server);
}

async function notices(server: TestServer): Promise<string[]> {
  const { data } = await json<{ data: { type: string }[] }>(await server.admin("GET", "/admin/v1/notices"));
  return data.map(({ type }) => type);
}

test("a backup that is stopped while its destination is being checked starts no thread", async () => {
  const data = ownDirectory();
  const start = { data, id: newId(), destination: readDestination(data), recipients: [] };
  const calls = new DirectoryCalls(data, () => performance.now());
  const run = new BackupRun({ start, program: import.meta.url, log: keptLog().log, calls });
  run.end();
  using threads = spyOn(globalThis, "Worker");
  await expect(run.make()).rejects.toThrow("stopped before it began");
  expect(threads).not.toHaveBeenCalled();
});

describe("on a schedule", () => {
  test("a backup is made at once, then once a day; metrics report its age", async () => {
    const clock = new Clock();
    const data = ownDirectory();
    const args = ["--backup-every", "24h", "--keep-backups", "2"];
    const server = await ownServer({ isOnSqlite: true, data, clock, args });
    // The server also checks the schedule by itself.
    await until(async () => (await list(server))[0]?.status === "done");
    expect(await looked(server)).toMatchObject([{ status: "done", created_at: "2026-01-14T16:00:00.000Z" }]);
    clock.advance(7 * hour);
    expect(await looked(server)).toHaveLength(1);
    expect(await metrics(server)).toEqual({
      'backups_total{outcome="done"}': 1,
      'backups_total{outcome="failed"}': 0,
      last_backup_timestamp_seconds: Date.parse("2026-01-14T16:00:00.000Z") / 1000,
      backup_every_seconds: 24 * 3_600,
    });
    clock.advance(6 * hour);
    expect(await looked(server)).toHaveLength(2);
    clock.advance(day);
    const kept = await looked(server);
    expect(kept.map(({ created_at }) => created_at.slice(0, 10))).toEqual(["2026-01-16", "2026-01-15"]);
    expect(await notices(server)).toEqual([]);
  });

  test("a failed backup is logged and retried, and the later success is logged", async () => {
    const clock = new Clock();
    const data = ownDirectory();
    const place = join(ownDirectory(), "mounted");
    writeFileSync(place, "not a directory");
    const args = ["--backup-every", "1h", "--backup-to", place];
    const server = await ownServer({ isOnSqlite: true, data, clock, args });
    await until(async () => (await notices(server)).includes("backup.failed"));
    const { data: told } = await json<{ data: object[] }>(await server.admin("GET", "/admin/v1/notices"));
    const reason = `The directory of the backups, ${place}, cannot be used (ENOTDIR). Give the user of the server the right`;
    expect(JSON.stringify(told)).toContain(reason);
    const answer = await server.admin("GET", backupsPath);
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining(reason)]);
    expect((await metrics(server))['backups_total{outcome="done"}']).toBe(0);
    expect(await metrics(server)).not.toHaveProperty("last_backup_timestamp_seconds");
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    await Bun.file(place).delete();
    clock.advance(hour);
    const [newest] = await looked(server);
    expect(newest?.status).toBe("done");
    expect(backupFiles(data)).toEqual([]);
    await until(async () => (await notices(server)).includes("backup.recovered"));
  });

  test("none is made of a held copy, because the original server may keep its backups there", async () => {
    const server = await ownServer({
      isOnSqlite: true,
      args: ["--backup-every", "24h", "--hold-deliveries"],
    });
    expect(await looked(server)).toEqual([]);
    expect((await server.admin("DELETE", "/admin/v1/deliveries/hold")).status).toBe(204);
    expect(await looked(server)).toMatchObject([{ status: "done" }]);
  });
});

describe("a directory of backups that hangs, like a mount whose server is away,", () => {
  /** Makes each read of the directory wait, as a disk that does not answer does: until a pipe has a writer. */
  function hang(place: string): void {
    const path = join(place, ownerFile);
    rmSync(path, { force: true });
    Bun.spawnSync(["mkfifo", path]);
    // So that the process can end.
    afterThisTest(() => respond(place));
  }
  /** Lets the waiting read end, and later ones find no file. */
  function respond(place: string): void {
    const path = join(place, ownerFile);
    if (!lstatSync(path, { throwIfNoEntry: false })?.isFIFO()) return;
    const writer = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    rmSync(path);
    closeSync(writer);
  }
  const args = (place: string) => ["--backup-every", "1h", "--backup-to", place];

  test("does not end the watch over the age of the newest backup", async () => {
    const clock = new Clock();
    const place = ownDirectory();
    const server = await ownServer({ isOnSqlite: true, clock, args: args(place) });
    await until(async () => (await list(server))[0]?.status === "done");
    hang(place);
    await server.app.backups.check();
    expect(await notices(server)).toEqual([]);
    clock.advance(3 * hour);
    await server.app.backups.check();
    await until(async () => (await notices(server)).includes("backup.overdue"));
  });

  test("leaves the threads for files to compression, and backups are refused meanwhile", async () => {
    const clock = new Clock();
    const place = ownDirectory();
    hang(place);
    const server = await ownServer({ isOnSqlite: true, clock, args: args(place) });
    clock.advance(30 * second);
    for (const method of ["POST", "GET", "POST", "GET"]) {
      const answer = await server.admin(method, backupsPath);
      expect([method, answer.status, await json<object>(answer)]).toMatchObject([
        method,
        503,
        { message: expect.stringContaining(`${place}, does not respond. Check`) },
      ]);
    }
    const compressed = Array.from({ length: 4 }, () => promisify(gzip)("x"));
    expect(await inTime(Promise.all(compressed), 5 * second)).toHaveLength(4);
  });

  test("only for some seconds, like a disk that sleeps, is no failure", async () => {
    const clock = new Clock();
    const place = ownDirectory();
    hang(place);
    const { log, lines } = keptLog();
    const server = await ownServer({ isOnSqlite: true, clock, log, args: args(place) });
    clock.advance(20 * second);
    await server.app.backups.check();
    respond(place);
    await until(async () => (await metrics(server))['backups_total{outcome="done"}'] === 1);
    expect(await notices(server)).toEqual([]);
    expect((await lines()).filter((line) => line.includes("backup.not_listed"))).toEqual([]);
    expect((await metrics(server))['backups_total{outcome="failed"}']).toBe(0);
  });

  test("and then fails is reported once", async () => {
    const clock = new Clock();
    const place = ownDirectory();
    hang(place);
    const { log, lines } = keptLog();
    const server = await ownServer({ isOnSqlite: true, clock, log, args: args(place) });
    clock.advance(30 * second);
    await server.app.backups.check();
    const path = join(place, ownerFile);
    // The waiting read gets the id of other data.
    writeFileSync(path, "01KEYN5Z9V5Z8N1F4T7Y0XW3CD\n");
    await server.app.backups.check();
    expect((await metrics(server))['backups_total{outcome="failed"}']).toBe(1);
    const reported = (await lines()).filter((line) => line.includes("backup.not_listed"));
    expect(reported).toEqual([expect.stringContaining("does not respond")]);
  });

  test("already at the start is reported once, then by age, and the server starts and stops", async () => {
    const clock = new Clock();
    const place = ownDirectory();
    hang(place);
    const { log, lines } = keptLog();
    const server = await ownServer({ isOnSqlite: true, clock, log, args: args(place) });
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    clock.advance(30 * second);
    await server.app.backups.check();
    await until(async () => (await notices(server)).includes("backup.failed"));
    await server.app.backups.check();
    expect(await notices(server)).toEqual(["backup.failed"]);
    clock.advance(3 * hour);
    await server.app.backups.check();
    await until(async () => (await notices(server)).includes("backup.overdue"));
    expect((await metrics(server))['backups_total{outcome="failed"}']).toBe(1);
    const reported = (await lines()).filter((line) => line.includes("backup.not_listed"));
    expect(reported).toEqual([expect.stringContaining(`${place}, does not respond. Check`)]);
    await server.stop();
  });

  test("is left to `doctor`, so that it does not hold up the thread that answers requests", async () => {
    const data = ownDirectory();
    const server = await ownServer({ isOnSqlite: true, data });
    mkdirSync(join(data, "backups"));
    writeFileSync(join(data, "backups", "readable.db"), "", { mode: 0o644 });
    const answer = await json<{ data: { check: string; status: string }[] }>(
      await server.admin("GET", "/admin/v1/findings"),
    );
    expect(answer.data.filter(({ check }) => check === "file_modes")).toMatchObject([{ status: "ok" }]);
  });

  test.skipIf(!canHang)("while a backup is begun does not keep the server from stopping", async () => {
    const place = ownDirectory();
    const server = await ownServer({ isOnSqlite: true, args: ["--backup-to", place] });
    await hangFor(place, 30);
    let hasBegun = false;
    const begun = () => {
      hasBegun = true;
    };
    server.app.backups.begin().then(begun, () => {});
    const startedAt = performance.now();
    await server.stop();
    expect(hasBegun).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(20 * second);
  });
});

describe("backups that a test makes itself", () => {
  /** Backups of a server's data in another directory, and what they announce. */
  async function own(options: Partial<ConstructorParameters<typeof Backups>[0]>) {
    const data = ownDirectory();
    const place = ownDirectory();
    await ownServer({ isOnSqlite: true, data });
    const announced: string[] = [];
    const { log, lines } = keptLog();
    const backups = new Backups({
      data,
      dataId: async () => "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
      destination: readDestination(place),
      recipients: [],
      everyMs: null,
      keep: 3,
      keepDays: null,
      program: new URL("../../../src/operations/backups/backup-worker.ts", import.meta.url).href,
      now: Date.now,
      log,
      announce: (type) => void announced.push(type),
      ...options,
    });
    afterThisTest(() => backups.stop());
    return { backups, place, announced, lines };
  }
  const newest = async (backups: Backups) => (await backups.page("", 1))[0];

  test("one that fails while the server stops is not announced", async () => {
    const { log, lines } = keptLog();
    const { backups, place, announced } = await own({
      // The stop comes while the files of the failed backup are removed.
      log: {
        ...log,
        warn(event, fields) {
          log.warn(event, fields);
          void backups.stop();
        },
      },
    });
    const { id } = await backups.begin();
    // It can be neither written nor removed.
    mkdirSync(join(place, `${id}.partial`));
    await until(async () => (await lines()).some((line) => line.includes("backup.not_removed")));
    await Bun.sleep(50);
    expect(announced).toEqual([]);
    expect((await lines()).filter((line) => line.includes("backup.failed"))).toEqual([]);
    expect(backups.state.failed).toBe(0);
  });

  test("one that fails has its own reason, also where its files cannot be removed", async () => {
    const { backups, place } = await own({});
    const { id } = await backups.begin();
    mkdirSync(join(place, `${id}.partial`));
    await until(() => backups.state.failed === 1);
    expect(await newest(backups)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("(EEXIST)"),
    });
  });

  test("one that is made is no failure where the store cannot say which may be removed", async () => {
    const isHeld = () => Promise.reject(new Error("the store cannot be read"));
    const { backups, announced, lines } = await own({ isHeld });
    await backups.begin();
    await until(async () => (await lines()).some((line) => line.includes("backup.not_removed")));
    expect(backups.state).toMatchObject({ made: 1, failed: 0 });
    expect(await newest(backups)).toMatchObject({ status: "done" });
    expect(announced).toEqual([]);
  });
});

test("backups are written to another directory, and metrics report their age without a schedule, too", async () => {
  const data = ownDirectory();
  const place = join(ownDirectory(), "far", "away");
  const server = await ownServer({ isOnSqlite: true, data, users, args: ["--backup-to", place] });
  const backup = await madeBackup(server);
  expect(backupFiles(data)).toEqual([]);
  const file = join(place, `${backup.id}.${backup.sha256}.db`);
  const count = inDatabase(file, (db) => db.query("SELECT count(*) AS n FROM users").get());
  expect(count).toEqual({ n: users.length });
  const { last_backup_timestamp_seconds, backup_every_seconds } = await metrics(server);
  expect(last_backup_timestamp_seconds).toBeGreaterThan(0);
  expect(backup_every_seconds).toBe(0);
  expect((await server.admin("DELETE", `${backupsPath}/${backup.id}`)).status).toBe(204);
  expect(await list(server)).toEqual([]);
});

describe("to S3", () => {
  const kept = (s3: FakeS3) => [...s3.objects.keys()].filter((key) => key !== "onair/onair-data-id");
  const start = async (s3: FakeS3, data: string, ...args: string[]) =>
    ownServer({
      isOnSqlite: true,
      data,
      users,
      aws,
      args: ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint, ...args],
    });

  test("backups are uploaded, listed, downloaded and deleted there, and nothing stays on the disk", async () => {
    const s3 = await FakeS3.own();
    const data = ownDirectory();
    const server = await start(s3, data, "--keep-backups", "2");
    const made = [];
    for (let n = 0; n < 3; n++) made.unshift(await madeBackup(server));
    const names = made.slice(0, 2).map(({ id, sha256 }) => `onair/${id}.${sha256}.db`);
    expect(kept(s3).sort()).toEqual(names.sort());
    expect(backupFiles(data)).toEqual([]);
    expect((await list(server)).map(({ id }) => id)).toEqual(made.slice(0, 2).map(({ id }) => id));
    const [newest] = made as [ShownBackup];
    const copy = join(ownDirectory(), "copy.db");
    await downloadBackup(server, newest, copy);
    expect(inDatabase(copy, (db) => db.query("SELECT count(*) AS n FROM users").get())).toEqual({
      n: users.length,
    });
    const part = await fetch(`${server.adminUrl}${backupsPath}/${newest.id}/content`, {
      headers: { authorization: `Bearer test-operator-key`, range: "bytes=0-15" },
    });
    expect([part.status, await part.text()]).toEqual([206, "SQLite format 3\0"]);
    expect((await server.admin("DELETE", `${backupsPath}/${newest.id}`)).status).toBe(204);
    expect(kept(s3)).toHaveLength(1);
    // A backup deleted there by another program is not found.
    await server.stop();
    s3.objects.clear();
    expect(await list(await start(s3, data))).toEqual([]);
  });

  test("a refused upload fails with advice, leaves nothing, and shows no secret", async () => {
    const s3 = await FakeS3.own();
    const data = ownDirectory();
    const server = await start(s3, data);
    s3.fault = ({ method }) => (method === "PUT" ? { status: 403, code: "AccessDenied" } : null);
    const failed = await endOfBackup(server, (await beginBackup(server)).id);
    expect(failed).toMatchObject({ status: "failed", sha256: null });
    expect(failed.error).toMatch(
      /answered 403 AccessDenied: let these credentials list, read, write and delete/,
    );
    expect(JSON.stringify(failed)).not.toContain("secret");
    expect(backupFiles(data)).toEqual([]);
    expect(kept(s3)).toEqual([]);
    await until(async () => (await notices(server)).includes("backup.failed"));
    const settings = await (await server.admin("GET", "/admin/v1/settings")).text();
    expect(settings).not.toContain("very secret");
  });

  test("a stored backup is no failure, although listing fails at that moment", async () => {
    const s3 = await FakeS3.own();
    const clock = new Clock();
    const args = ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint];
    const server = await ownServer({ isOnSqlite: true, data: ownDirectory(), aws, clock, args });
    const made = await madeBackup(server);
    let refused = 0;
    s3.fault = ({ query }) =>
      query.has("list-type") && ++refused > 0 ? { status: 403, code: "AccessDenied" } : null;
    clock.advance(minute);
    const { id } = await beginBackup(server);
    await until(() => refused > 0);
    s3.fault = () => null;
    // The refusal may be recorded only after that; the refused request is repeated a minute later.
    await until(async () => {
      clock.advance(minute);
      return (await server.admin("GET", backupsPath)).ok;
    });
    expect((await endOfBackup(server, id)).status).toBe("done");
    expect((await list(server)).map((one) => [one.id, one.status])).toEqual([
      [id, "done"],
      [made.id, "done"],
    ]);
    expect(await metrics(server)).toMatchObject({
      'backups_total{outcome="done"}': 2,
      'backups_total{outcome="failed"}': 0,
    });
    expect(await notices(server)).toEqual([]);
  });

  test("that does not answer does not prevent the server from starting and stopping", async () => {
    const s3 = await FakeS3.own();
    s3.fault = () => ({ hang: true });
    const server = await start(s3, ownDirectory(), "--backup-every", "1h");
    await until(() => s3.calls.length > 0);
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    // Each of its requests has a timeout of a minute, as long as that of the whole test.
    await server.stop();
  });

  test("a failed listing is 503 with advice, and the server is ready", async () => {
    const s3 = await FakeS3.own();
    s3.fault = () => ({ status: 403, code: "InvalidAccessKeyId" });
    const server = await start(s3, ownDirectory());
    const answer = await server.admin("GET", backupsPath);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("the credentials are wrong; correct AWS_ACCESS_KEY_ID");
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
  });
});

test("a killed server's partial backup in another directory is removed at the next start", async () => {
  const data = ownDirectory();
  const place = ownDirectory();
  const left = ["01KEYN5Z9V5Z8N1F4T7Y0XW3CD.partial", "01KEYN5Z9V5Z8N1F4T7Y0XW3CD.partial.age"];
  for (const name of [...left, "mine.partial"]) writeFileSync(join(place, name), "half");
  await ownServer({ isOnSqlite: true, data, args: ["--backup-to", place] });
  for (const name of left) expect(await Bun.file(join(place, name)).exists()).toBe(false);
  expect(readFileSync(join(place, "mine.partial"), "utf8")).toBe("half");
});

test("doctor reports the age of the newest backup, and sends requests to S3 only if allowed", async () => {
  const data = ownDirectory();
  const server = await ownServer({ isOnSqlite: true, data });
  await madeBackup(server);
  await server.stop();
  const doctor = async (...words: string[]) => {
    const args = ["doctor", "--data", data, "--port", "0", "--admin-port", "0", "--json", ...words];
    const { findings } = JSON.parse((await run(args)).stdout) as {
      findings: { check: string; status: string; message: string }[];
    };
    return findings
      .filter(({ check }) => check === "backups")
      .map(({ status, message }) => `${status}: ${message}`);
  };
  expect(await doctor()).toEqual([
    expect.stringMatching(/^ok: 1 in .*, the newest \d+ seconds? old; automatic backups are off/),
  ]);
  expect(await doctor("--backup-every", "24h")).toEqual([
    expect.stringMatching(/^ok: 1 in .* \d+ seconds? old$/),
  ]);
  const none = join(ownDirectory(), "none");
  expect(await doctor("--backup-to", none, "--backup-every", "24h")).toEqual([
    expect.stringMatching(/^warning: no backup in .*, although --backup-every is set$/),
  ]);
  const [name = ""] = backupFiles(data);
  renameSync(
    join(data, "backups", name),
    join(data, "backups", `01KEYN5Z9V5Z8N1F4T7Y0XW3CD${name.slice(26)}`),
  );
  expect(await doctor("--backup-every", "24h")).toEqual([
    expect.stringMatching(/^wrong: .*more than twice --backup-every/),
  ]);
  const s3 = await FakeS3.own();
  const to = ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint];
  expect(await doctor(...to)).toEqual(["skipped: s3://backups/onair was not checked"]);
  expect(s3.calls).toEqual([]);
  s3.fault = () => ({ status: 403, code: "AccessDenied" });
  expect(await doctor(...to, "--reach")).toEqual([
    expect.stringMatching(/^wrong: .*([Nn]o credentials|AccessDenied)/),
  ]);
});
