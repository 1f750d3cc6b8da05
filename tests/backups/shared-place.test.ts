import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPlace, readPlace } from "../../src/backups/place.ts";
import { newId } from "../../src/domain/ids.ts";
import { backupsPath, beginBackup, endOfBackup, madeBackup, type ShownBackup } from "../support/backups.ts";
import { FakeS3 } from "../support/fake-s3.ts";
import { expectFailure, run } from "../support/process.ts";
import { json, ownDirectory, ownServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * Two servers whose backups go to one place: of other data, which is refused, because each would delete what is old there;
 * and of the same data, as a restored copy is, which deletes nothing while it is held.
 */

const backups = (names: Iterable<string>) => [...names].filter((name) => name.endsWith(".db")).sort();
const refusal =
  /^Other data stores its backups in .*: set another destination with --backup-to, or, .* delete onair-data-id there$/;

interface Place {
  readonly args: readonly string[];
  names(): string[];
  /** Deletes the file that says whose the backups are. */
  giveUp(): void;
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
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
  async "a prefix of S3 that knows no conditions"() {
    const s3 = await FakeS3.own();
    s3.fault = ({ headers }) => (headers["if-none-match"] ? { status: 400, code: "NotImplemented" } : null);
    return {
      args: ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint],
      names: () => [...s3.objects.keys()].map((key) => key.replace("onair/", "")),
      giveUp: () => void s3.objects.delete("onair/onair-data-id"),
    };
  },
};

const start = (place: Place, ...args: string[]) =>
  ownServer({
    isOnSqlite: true,
    data: ownDirectory(),
    aws: { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" },
    args: [...place.args, ...args],
  });

test.each(Object.entries(places))("%s takes the backups of one server alone", async (_, make) => {
  const place = await make();
  const first = await start(place);
  const made = [await madeBackup(first), await madeBackup(first)];
  const theirs = place.names();
  expect(backups(theirs)).toHaveLength(2);

  const second = await start(place, "--keep-backups", "1", "--backup-every", "1h");
  const failed = await endOfBackup(second, (await beginBackup(second)).id);
  // Its list is refused as well, so that it does not take the first's backups for its own.
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
  expect(place.names().sort()).toEqual(theirs.sort());
  const { data } = await json<{ data: ShownBackup[] }>(await first.admin("GET", backupsPath));
  expect(data.map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
  await first.stop();

  // That data is given up: the place goes to the one that asks next.
  await second.stop();
  place.giveUp();
  const third = await start(place);
  await madeBackup(third);
  expect(backups(place.names())).toHaveLength(3);
});

describe("in a directory of other data", () => {
  test("neither a start nor a backup by hand touches what is being made there; doctor tells of it", async () => {
    const place = await (places["a directory"] as () => Promise<Place>)();
    const directory = place.args[1] ?? "";
    const first = await start(place);
    await madeBackup(first);
    await first.stop();
    const half = join(directory, `${newId()}.partial`);
    writeFileSync(half, "half");
    const data = ownDirectory();
    await (await ownServer({ isOnSqlite: true, data, args: place.args })).stop();
    expect(existsSync(half)).toBe(true);

    const env = { ONAIR_BACKUP_TO: directory };
    expectFailure(await run(["backup", "--data", data], { env }), 1, "Other data stores its backups in");
    expect(existsSync(half)).toBe(true);
    const ports = ["--port", "0", "--admin-port", "0"];
    const { stdout } = await run(["doctor", "--data", data, ...ports], { env });
    expect(stdout).toContain(`Other data stores its backups in ${directory}`);
    // The first removes it, as it is its own.
    await (await ownServer({ isOnSqlite: true, data: first.data, args: place.args })).stop();
    expect(existsSync(half)).toBe(false);
  });
});

test("a restored copy that is held deletes none of the first server's backups, and counts as its data", async () => {
  const place = await (places["a directory"] as () => Promise<Place>)();
  const directory = place.args[1] ?? "";
  const first = await start(place);
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
  expect(backups(place.names())).toHaveLength(3);
  const copy = await ownServer({ isOnSqlite: true, data, args: [...place.args, "--keep-backups", "1"] });
  await madeBackup(copy);
  expect(backups(place.names())).toHaveLength(4);
  expect(existsSync(half)).toBe(true);

  expect((await copy.admin("DELETE", "/admin/v1/deliveries/hold")).status).toBe(204);
  await madeBackup(copy);
  await until(() => backups(place.names()).length === 1);
});

test.each(["a directory", "S3"])("of servers that claim %s at the same instant, one has it", async (kind) => {
  const s3 = await FakeS3.own();
  const aws = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
  for (let round = 0; round < 10; round++) {
    const text = kind === "S3" ? `s3://backups/${round}` : join(ownDirectory(), "there");
    const settings = readPlace(text, { endpoint: s3.endpoint, aws });
    const claims = ["a", "b", "c", "d", "e", "f"].map(async (id) => (await openPlace(settings)).claim(id));
    const owners = new Set(await Promise.all(claims));
    expect(owners.size).toBe(1);
    expect([await (await openPlace(settings)).owner()]).toEqual([...owners]);
    if (settings.kind === "directory") expect(readdirSync(settings.directory)).toEqual(["onair-data-id"]);
  }
});

test.each(["refuses conditions", "passes conditions over"])(
  "in S3 that %s, the last one of those that claim a place has it",
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
        // Another server, which has seen the place empty as well, writes meanwhile.
        overtake();
        lookedAt = performance.now();
      }
      return null;
    };
    const place = await openPlace(readPlace("s3://backups/there", { endpoint: s3.endpoint, aws }));
    expect(await place.claim("mine")).toBe("other");
    // So long has the other one time to write.
    expect(lookedAt - writtenAt).toBeGreaterThan(500);
  },
);

test.each([
  ["heeds conditions", false],
  ["passes conditions over", true],
])("doctor says of S3 that %s whether two servers could take it", async (_, ignoresConditions) => {
  const s3 = await FakeS3.own();
  s3.ignoresConditions = ignoresConditions;
  const args = ["--backup-to", "s3://backups/onair", "--backup-endpoint", s3.endpoint];
  const first = await start({ args, names: () => [], giveUp() {} });
  await madeBackup(first);
  await first.stop();
  const before = s3.objects.get("onair/onair-data-id")?.bytes;
  const env = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };
  const asked = ["doctor", "--data", first.data, "--port", "0", "--admin-port", "0", "--reach", ...args];
  const { stdout } = await run(asked, { env });
  const said = "this storage ignores If-None-Match";
  expect(stdout.includes(said)).toBe(ignoresConditions);
  expect(stdout).toContain("1 in s3://backups/onair/");
  expect(s3.objects.get("onair/onair-data-id")?.bytes).toEqual(before as Buffer);
});

test("what a claim that was cut short has left in a directory goes with the next one", async () => {
  const directory = ownDirectory();
  const place = await openPlace(readPlace(directory));
  const left = () => readdirSync(directory).sort();
  writeFileSync(join(directory, "onair-data-id.mine"), "mi");
  expect(await place.claim("mine")).toBe("mine");
  expect([left(), await place.owner()]).toEqual([["onair-data-id"], "mine"]);
  writeFileSync(join(directory, "onair-data-id.later"), "later\n");
  expect(await place.claim("later")).toBe("mine");
  expect(left()).toEqual(["onair-data-id"]);
});

test("a file of the owner that is empty, as a full disk leaves it, is written again", async () => {
  const place = await (places["a directory"] as () => Promise<Place>)();
  const server = await start(place);
  await madeBackup(server);
  const file = join(place.args[1] ?? "", "onair-data-id");
  renameSync(file, `${file}.before`);
  writeFileSync(file, "");
  await madeBackup(server);
  expect(await Bun.file(file).text()).toBe(await Bun.file(`${file}.before`).text());
});
