import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../../src/domain/ids.ts";
import { readDestination } from "../../../src/operations/backups/destination.ts";
import { openDestination } from "../../../src/operations/backups/open-destination.ts";
import {
  backupsPath,
  beginBackup,
  endOfBackup,
  madeBackup,
  type ShownBackup,
} from "../../support/backups.ts";
import { FakeS3 } from "../../support/fake-s3.ts";
import { expectFailure, run } from "../../support/process.ts";
import { json, ownDirectory, ownServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

/*
 * Two servers with the same backup destination. With different data this is refused, because each would delete the
 * other's old backups. With the same data, as in a restored copy, the copy deletes nothing while it is held.
 */

const backups = (names: Iterable<string>) => [...names].filter((name) => name.endsWith(".db")).sort();
const refusal =
  /^Other data stores its backups in .*: set another destination with --backup-to, or, .* delete onair-data-id there$/;

interface Destination {
  readonly args: readonly string[];
  names(): string[];
  /** Deletes the file that names the owner of the backups. */
  giveUp(): void;
}

const destinations: Readonly<Record<string, () => Promise<Destination>>> = {
  async "a directory"() {
    const directory = join(ownDirectory(), "there");
    return {
      args: ["--backup-to", directory],
      names: () => (existsSync(directory) ? readdirSync(directory) : []),
      giveUp: () => rmSync(join(directory, "onair-data-id")),
    };
  },
  async "a prefix of S3"() {
    const s3 = await FakeS3.own();
    return {
      args: ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint],
      names: () => [...s3.objects.keys()].map((key) => key.replace("onair/", "")),
      giveUp: () => void s3.objects.delete("onair/onair-data-id"),
    };
  },
};

const start = (destination: Destination, ...args: string[]) =>
  ownServer({
    isOnSqlite: true,
    data: ownDirectory(),
    aws: { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" },
    args: [...destination.args, ...args],
  });

test.each(Object.entries(destinations))("%s accepts the backups of only one server", async (_, make) => {
  const destination = await make();
  const first = await start(destination);
  const made = [await madeBackup(first), await madeBackup(first)];
  const theirs = destination.names();
  expect(backups(theirs)).toHaveLength(2);

  const second = await start(destination, "--keep-backups", "1", "--backup-every", "1h");
  const failed = await endOfBackup(second, (await beginBackup(second)).id);
  // Its list is refused as well, so that it does not show the first server's backups as its own.
  expect(JSON.stringify(failed)).toContain("Other data stores its backups in");
  const list = await second.admin("GET", backupsPath);
  expect(list.status).toBe(503);
  expect((await json<{ message: string }>(list)).message).toMatch(refusal);
  await until(async () => {
    const { data } = await json<{ data: { type: string; summary: string }[] }>(
      await second.admin("GET", "/admin/v1/notices"),
    );
    return data.some(
      ({ type, summary }) => type === "backup.failed" && summary.includes("Other data stores its"),
    );
  });
  expect(destination.names().sort()).toEqual(theirs.sort());
  const { data } = await json<{ data: ShownBackup[] }>(await first.admin("GET", backupsPath));
  expect(data.map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
  await first.stop();

  // After the first server's data is abandoned, the next server claims the destination.
  await second.stop();
  destination.giveUp();
  const third = await start(destination);
  await madeBackup(third);
  expect(backups(destination.names())).toHaveLength(3);
});

describe("in a directory that belongs to other data", () => {
  test("neither a start nor a manual backup touches a backup in progress; doctor reports the conflict", async () => {
    const destination = await (destinations["a directory"] as () => Promise<Destination>)();
    const directory = destination.args[1] ?? "";
    const first = await start(destination);
    await madeBackup(first);
    await first.stop();
    const half = join(directory, `${newId()}.partial`);
    writeFileSync(half, "half");
    const data = ownDirectory();
    await (await ownServer({ isOnSqlite: true, data, args: destination.args })).stop();
    expect(existsSync(half)).toBe(true);

    const env = { ONAIR_BACKUP_TO: directory };
    expectFailure(await run(["backup", "--data", data], { env }), 1, "Other data stores its backups in");
    expect(existsSync(half)).toBe(true);
    const ports = ["--port", "0", "--admin-port", "0"];
    const { stdout } = await run(["doctor", "--data", data, ...ports], { env });
    expect(stdout).toContain(`Other data stores its backups in ${directory}`);
    // The first server removes it, because it is its own.
    await (await ownServer({ isOnSqlite: true, data: first.data, args: destination.args })).stop();
    expect(existsSync(half)).toBe(false);
  });
});

test("a held restored copy deletes none of the first server's backups, and counts as the same data", async () => {
  const destination = await (destinations["a directory"] as () => Promise<Destination>)();
  const directory = destination.args[1] ?? "";
  const first = await start(destination);
  await madeBackup(first);
  const data = join(ownDirectory(), "restored");
  const restored = await run(["restore", "--from", directory, "--data", data]);
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  expect(restored.stdout).toContain("Until then it also deletes no old backups");

  await madeBackup(first);
  const half = join(directory, `${newId()}.partial`);
  writeFileSync(half, "what the first is making");
  const [env, words] = [{ ONAIR_BACKUP_TO: directory, ONAIR_KEEP_BACKUPS: "1" }, ["--data", data]];
  expect((await run(["backup", ...words], { env })).code).toBe(0);
  expect(backups(destination.names())).toHaveLength(3);
  const copy = await ownServer({
    isOnSqlite: true,
    data,
    args: [...destination.args, "--keep-backups", "1"],
  });
  await madeBackup(copy);
  expect(backups(destination.names())).toHaveLength(4);
  expect(existsSync(half)).toBe(true);

  expect((await copy.admin("DELETE", "/admin/v1/deliveries/hold")).status).toBe(204);
  await madeBackup(copy);
  await until(() => backups(destination.names()).length === 1);
});

test.each(["a directory", "S3"])(
  "of servers that claim %s at the same instant, one becomes the owner",
  async (kind) => {
    const s3 = await FakeS3.own();
    const aws = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
    for (let round = 0; round < 10; round++) {
      const text = kind === "S3" ? `s3://backups/${round}` : join(ownDirectory(), "there");
      const settings = readDestination(text, { endpoint: s3.endpoint, aws });
      const claims = ["a", "b", "c", "d", "e", "f"].map(async (id) =>
        (await openDestination(settings)).claim(id),
      );
      const owners = new Set(await Promise.all(claims));
      expect(owners.size).toBe(1);
      expect([await (await openDestination(settings)).owner()]).toEqual([...owners]);
      if (settings.kind === "directory") expect(readdirSync(settings.directory)).toEqual(["onair-data-id"]);
    }
  },
);

test.each(["refuses conditions", "passes conditions over"])(
  "in S3 that %s, the last server to claim a destination owns it",
  async (kind) => {
    const s3 = await FakeS3.own();
    s3.ignoresConditions = kind === "passes conditions over";
    const aws = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
    const overtake = () =>
      s3.objects.set("there/onair-data-id", { bytes: Buffer.from("other"), modified: new Date() });
    let [writtenAt, lookedAt] = [0, 0];
    s3.fault = ({ method, headers }) => {
      if (headers["if-none-match"])
        return s3.ignoresConditions ? null : { status: 400, code: "NotImplemented" };
      if (method === "PUT") writtenAt = performance.now();
      else if (writtenAt > 0) {
        // Another server, which also found no owner, writes in between.
        overtake();
        lookedAt = performance.now();
      }
      return null;
    };
    const destination = await openDestination(
      readDestination("s3://backups/there", { endpoint: s3.endpoint, aws }),
    );
    expect(await destination.claim("mine")).toBe("other");
    // The time in which another server may write.
    expect(lookedAt - writtenAt).toBeGreaterThan(500);
  },
);

test("doctor reports for S3 whether two servers could claim it", async () => {
  const s3 = await FakeS3.own();
  const args = ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint];
  const first = await start({ args, names: () => [], giveUp() {} });
  await madeBackup(first);
  await first.stop();
  const before = s3.objects.get("onair/onair-data-id")?.bytes;
  const env = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
  const asked = ["doctor", "--data", first.data, "--port", "0", "--admin-port", "0", "--reach", ...args];
  for (const ignoresConditions of [false, true]) {
    s3.ignoresConditions = ignoresConditions;
    const { stdout } = await run(asked, { env });
    expect(stdout.includes("this storage ignores If-None-Match")).toBe(ignoresConditions);
    expect(stdout).toContain("1 in s3://backups/onair/");
    expect(s3.objects.get("onair/onair-data-id")?.bytes).toEqual(before as Buffer);
  }
});

test("the next claim of a directory removes the files of an interrupted one", async () => {
  const directory = ownDirectory();
  const destination = await openDestination(readDestination(directory));
  const left = () => readdirSync(directory).sort();
  writeFileSync(join(directory, "onair-data-id.mine"), "mi");
  expect(await destination.claim("mine")).toBe("mine");
  expect([left(), await destination.owner()]).toEqual([["onair-data-id"], "mine"]);
  writeFileSync(join(directory, "onair-data-id.later"), "later\n");
  expect(await destination.claim("later")).toBe("mine");
  expect(left()).toEqual(["onair-data-id"]);
  // An empty one, as left by a full disk, names no owner.
  writeFileSync(join(directory, "onair-data-id"), "");
  expect(await destination.claim("later")).toBe("later");
});
