import { afterAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../../src/domain/ids.ts";
import { day, minute } from "../../../src/domain/time.ts";
import {
  awsVariables,
  type CheckedFile,
  readDestination,
} from "../../../src/operations/backups/destination.ts";
import { nameOf } from "../../../src/operations/backups/files.ts";
import { S3Requests } from "../../../src/operations/backups/s3.ts";
import { S3Destination } from "../../../src/operations/backups/s3-destination.ts";
import { backupsPath, inDatabase, madeBackup, sha256 } from "../../support/backups.ts";
import { run } from "../../support/process.ts";
import { users } from "../../support/real-data.ts";
import { json, ownServer, testDirectory } from "../../support/server.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

/*
 * Backups in any real S3-compatible storage, with the credentials in AWS's variables:
 *
 *     ONAIR_TEST_S3=http://127.0.0.1:7070/bucket bun test tests/operations/backups/real-s3.test.ts --timeout 60000
 *
 * The bucket must exist. All objects are created under a prefix of their own, and removed.
 */

const named = process.env["ONAIR_TEST_S3"];
if (named === undefined)
  console.warn("SKIPPED: ONAIR_TEST_S3 names no real S3: backups are tried with ours alone.");
const aws = awsVariables(process.env);
const { origin, pathname, port } = new URL(named ?? "http://127.0.0.1:1/none");
const bucket = pathname.slice(1);
const runId = `onair-test-${newId().toLowerCase()}`;
const directory = testDirectory();
/** S3's smallest size of a part, except for the last one. */
const partBytes = 5 << 20;
const patience = { attempts: 3, pauseMs: 50, timeoutMs: 20_000, partTimeoutMs: 20_000 };

interface Changes {
  readonly folder?: string;
  readonly endpoint?: string;
  readonly credentials?: typeof aws;
  readonly inBucket?: string;
}

function settingsOf({ folder = "", endpoint = origin, credentials = aws, inBucket = bucket }: Changes) {
  const settings = readDestination(`s3://${inBucket}/${runId}/${folder}`, { endpoint, aws: credentials });
  if (settings.kind !== "s3") throw new Error(named);
  return settings;
}
const destination = (changes: Changes = {}) =>
  new S3Destination(settingsOf(changes), { patience, partBytes });
const requests = new S3Requests(settingsOf({}), patience);

/** A file with random content, and its object name. */
function backupOf(size: number): { file: CheckedFile; name: string; bytes: Buffer } {
  const bytes = randomBytes(size);
  const path = join(directory, newId());
  writeFileSync(path, bytes);
  const file = { path, size, sha256: sha256(bytes) };
  return { file, name: nameOf(newId(), file.sha256, false), bytes };
}

const read = (from: S3Destination, name: string, start: number, end: number) =>
  new Response(from.read(name, { start, end })).bytes();

/** The keys of this run, or its incomplete uploads. */
async function keysOf(query: Readonly<Record<string, string>>, prefix: string): Promise<string[]> {
  const answer = await requests.text({ method: "GET", query: { ...query, prefix: `${runId}/${prefix}` } });
  return [...answer.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = ""]) => key);
}
const objects = (folder = "") => keysOf({ "list-type": "2" }, folder);
const uploads = (folder = "") => keysOf({ uploads: "" }, folder);

/** Twenty at a time. */
async function inTurns(names: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < names.length; from += 20)
    await Promise.all(names.slice(from, from + 20).map(work));
}

const messageOf = (work: Promise<unknown>): Promise<string> => work.then(String, (error) => error.message);

describe.skipIf(named === undefined)(`S3 at ${origin}`, () => {
  afterAll(async () => {
    for (let keys = await objects(); keys.length > 0; keys = await objects())
      await inTurns(keys, (key) => requests.text({ method: "DELETE", key }));
  }, 300_000);

  test("stores a small backup, lists it, returns ranges of it, and removes it", async () => {
    const { file, name, bytes } = backupOf(1_000);
    const there = destination({ folder: "small" });
    await there.keep(file, name);
    const [found, ...others] = await there.list();
    expect(others).toEqual([]);
    expect(found).toMatchObject({ name, size: 1_000, sha256: file.sha256 });
    expect(Math.abs((found?.keptAt ?? 0) - Date.now())).toBeLessThan(600_000);
    expect(bytes.subarray(10, 90).equals(await read(there, name, 10, 90))).toBe(true);
    await there.remove(name);
    await there.remove(name);
    expect(await there.list()).toEqual([]);
  });

  test("stores a large one in parts, and no upload stays open", async () => {
    const { file, name, bytes } = backupOf(2 * partBytes + 1);
    const there = destination({ folder: "large" });
    await there.keep(file, name);
    expect(bytes.equals(await read(there, name, 0, file.size))).toBe(true);
    expect(await uploads("large")).toEqual([]);
  });

  test("the parts of an interrupted upload are removed by a backup of the next day", async () => {
    const left = `${runId}/left/${backupOf(10).name}`;
    await requests.text({ method: "POST", key: left, query: { uploads: "" } });
    expect(await uploads("left")).toEqual([left]);
    const [soon, later] = [backupOf(10), backupOf(10)];
    await destination({ folder: "left" }).keep(soon.file, soon.name);
    expect(await uploads("left")).toEqual([left]);
    const now = () => Date.now() + day + minute;
    await new S3Destination(settingsOf({ folder: "left" }), { patience, partBytes, now }).keep(
      later.file,
      later.name,
    );
    expect(await uploads("left")).toEqual([]);
  });

  test("lists more than one page of objects", async () => {
    const names = Array.from({ length: 1_005 }, () => nameOf(newId(), sha256(randomBytes(8)), false));
    const body = new TextEncoder().encode("x");
    await inTurns(names, (name) => requests.text({ method: "PUT", key: `${runId}/many/${name}`, body }));
    const listed = await destination({ folder: "many" }).list();
    expect(listed.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  test("a destination that several servers claim at once has one owner", async () => {
    const ids = Array.from({ length: 5 }, () => newId());
    const owners = await Promise.all(ids.map((id) => destination({ folder: "claimed" }).claim(id)));
    expect(ids).toContain(owners[0] ?? "");
    expect(new Set(owners).size).toBe(1);
    expect(await destination({ folder: "claimed" }).claim(newId())).toBe(owners[0] ?? "");
    expect(await destination({ folder: "unclaimed" }).owner()).toBeNull();
  });

  test.each<[string, Changes, RegExp]>([
    [
      "a wrong secret",
      { credentials: { ...aws, AWS_SECRET_ACCESS_KEY: "another" } },
      /answered 403 SignatureDoesNotMatch: the credentials are wrong/,
    ],
    ["no such bucket", { inBucket: `${bucket}-none` }, /answered 404 NoSuchBucket: create the bucket/],
  ])("the error gives advice: %s", async (_, changes, sentence) => {
    const { file, name } = backupOf(100);
    expect(await messageOf(destination(changes).list())).toMatch(sentence);
    expect(await messageOf(destination(changes).owner())).toMatch(sentence);
    expect(await messageOf(destination(changes).keep(file, name))).toMatch(sentence);
  });

  // The proxy in between is on this machine and does not support TLS.
  test.skipIf(!origin.startsWith("http://127.0.0.1:"))("resumes after connections break", async () => {
    const proxy = await tcpProxy(Number(port));
    try {
      const there = destination({ folder: "broken", endpoint: `http://127.0.0.1:${proxy.port}` });
      const { file, name, bytes } = backupOf(3 * partBytes);
      // Connections are cut once the upload has begun, and again during the download.
      const kept = there.keep(file, name);
      await until(async () => (await uploads("broken")).length > 0);
      proxy.lead(Number(port));
      await kept;
      const parts: Uint8Array[] = [];
      for await (const part of there.read(name, { start: 0, end: file.size })) {
        if (parts.length === 0) proxy.lead(Number(port));
        parts.push(part);
      }
      expect(bytes.equals(Buffer.concat(parts))).toBe(true);
      expect(await uploads("broken")).toEqual([]);
    } finally {
      proxy.stop();
    }
  });

  test("a server keeps its newest backups there, and its data is restored from there", async () => {
    const s3 = ["--backup-endpoint", origin];
    const where = `s3://${bucket}/${runId}/server`;
    const args = ["--backup-to", where, ...s3, "--keep-backups", "2"];
    const data = join(directory, "data");
    const server = await ownServer({ isOnSqlite: true, data, users, args, aws });
    const made = [await madeBackup(server), await madeBackup(server), await madeBackup(server)];
    const kept = made.slice(1).reverse();
    const listed = await json<{ data: { id: string }[] }>(await server.admin("GET", backupsPath));
    expect(listed.data.map(({ id }) => id)).toEqual(kept.map(({ id }) => id));
    expect((await objects("server")).filter((key) => key.endsWith(".db"))).toHaveLength(2);
    await server.stop();

    const env = Object.fromEntries(Object.entries(aws).filter(([, value]) => value !== undefined));
    const words = ["restore", "--from", where, ...s3, "--data", join(directory, "restored")];
    const { code, stderr } = await run(words, { env: env as Record<string, string> });
    expect([code, stderr]).toEqual([0, ""]);
    const count = inDatabase(join(directory, "restored", "onair.db"), (db) =>
      db.query("SELECT count(*) AS n FROM users").get(),
    );
    expect(count).toEqual({ n: users.length });
  });
});
