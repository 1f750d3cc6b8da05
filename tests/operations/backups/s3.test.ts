import { beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../../src/domain/ids.ts";
import { day, hour, minute } from "../../../src/domain/time.ts";
import {
  type AwsVariables,
  type CheckedFile,
  readDestination,
} from "../../../src/operations/backups/destination.ts";
import { nameOf } from "../../../src/operations/backups/files.ts";
import type { S3Patience } from "../../../src/operations/backups/s3.ts";
import { S3Destination } from "../../../src/operations/backups/s3-destination.ts";
import { sha256 } from "../../support/backups.ts";
import { FakeS3, type S3Call, type S3Fault } from "../../support/fake-s3.ts";
import { ownDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

// Backups in S3-compatible storage, and the handling of its faults.

const partBytes = 1 << 16;
/** Retries without a pause, and a short timeout. */
const patience: S3Patience = { attempts: 3, pauseMs: 0, timeoutMs: 20_000, partTimeoutMs: 20_000 };
const credentials: AwsVariables = { AWS_ACCESS_KEY_ID: "AKEY", AWS_SECRET_ACCESS_KEY: "very secret" };

let s3: FakeS3;
let directory: string;

beforeEach(async () => {
  s3 = await FakeS3.own();
  directory = ownDirectory();
});

function destination({
  to = "s3://backups/onair/one",
  aws = credentials,
  waits = patience,
  endpoint = s3.endpoint as string | null,
} = {}) {
  const settings = readDestination(to, { endpoint, aws });
  if (settings.kind !== "s3") throw new Error(to);
  return new S3Destination(settings, { patience: waits, partBytes });
}

/** A file with random content, and its object name. */
function backupOf(size: number): { file: CheckedFile; name: string; bytes: Buffer } {
  const bytes = randomBytes(size);
  const path = join(directory, `${newId()}.partial`);
  writeFileSync(path, bytes);
  const file = { path, size, sha256: sha256(bytes) };
  return { file, name: nameOf(newId(), file.sha256, false), bytes };
}

/** The longest time in milliseconds for which this thread did nothing else during `work`. */
async function slowestTick(work: () => Promise<unknown>): Promise<number> {
  let [slowest, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const at = performance.now();
    slowest = Math.max(slowest, at - last);
    last = at;
  }, 1);
  await work().finally(() => clearInterval(timer));
  return Math.max(slowest, performance.now() - last);
}

async function read(from: S3Destination, name: string, start: number, end: number): Promise<Buffer> {
  return Buffer.from(await new Response(from.read(name, { start, end })).arrayBuffer());
}

describe("a backup", () => {
  test("that is small is uploaded whole, downloaded, listed, read in part, and removed", async () => {
    const { file, name, bytes } = backupOf(1_000);
    const there = destination();
    await there.keep(file, name);
    expect(s3.story).toEqual(["GET uploads", "PUT", "GET"]);
    expect(s3.objects.get(`onair/one/${name}`)?.bytes.equals(bytes)).toBe(true);
    const [found, ...others] = await there.list();
    expect(others).toEqual([]);
    expect(found).toMatchObject({ name, size: 1_000, sha256: file.sha256, isEncrypted: false });
    expect(Math.abs((found?.keptAt ?? 0) - Date.now())).toBeLessThan(60_000);
    expect((await read(there, name, 10, 90)).equals(bytes.subarray(10, 90))).toBe(true);
    await there.remove(name);
    await there.remove(name);
    expect([...s3.objects.keys()]).toEqual([]);
  });

  test("that is large is uploaded in parts, one after the other", async () => {
    const { file, name, bytes } = backupOf(3 * partBytes + 1);
    await destination().keep(file, name);
    const part = "PUT partNumber&uploadId";
    expect(s3.story).toEqual(["GET uploads", "POST uploads", part, part, part, part, "POST uploadId", "GET"]);
    expect(s3.objects.get(`onair/one/${name}`)?.bytes.equals(bytes)).toBe(true);
    expect(s3.uploads.size).toBe(0);
  });

  test("is found among the bucket's other objects, on every page of a list", async () => {
    s3.pageSize = 2;
    const there = destination();
    const names: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { file, name } = backupOf(10 + n);
      await there.keep(file, name);
      names.push(name);
    }
    const other = { bytes: Buffer.from("mine"), modified: new Date() };
    for (const key of ["onair/one/notes.txt", `onair/one/deeper/${names[0]}`, `onair/two/${names[0]}`])
      s3.objects.set(key, other);
    expect((await there.list()).map(({ name }) => name).sort()).toEqual(names.sort());
    expect((await destination({ to: "s3://backups" }).list()).length).toBe(0);
  });

  test.each([
    ["the variables of AWS", credentials],
    ["a file of AWS's tools", { AWS_SHARED_CREDENTIALS_FILE: "credentials" }],
    ["a profile of it", { AWS_SHARED_CREDENTIALS_FILE: "credentials", AWS_PROFILE: "other" }],
  ])("is signed with the credentials of %s", async (_, given: AwsVariables) => {
    const file = join(directory, "credentials");
    const section = (key: string) =>
      `aws_access_key_id = ${key}\r\naws_secret_access_key=s\naws_session_token = token of ${key}\n`;
    writeFileSync(file, `# mine\n[other]\n${section("OTHER")}\n[default]\n${section("AKEY")}`);
    const aws = given.AWS_SHARED_CREDENTIALS_FILE ? { ...given, AWS_SHARED_CREDENTIALS_FILE: file } : given;
    await destination({ aws: { ...aws, AWS_REGION: "eu-north-1" } }).list();
    const key = given.AWS_PROFILE ? "OTHER" : "AKEY";
    const { headers } = s3.calls[0] as S3Call;
    const scope = new RegExp(`Credential=${key}/[0-9]{8}/eu-north-1/s3/aws4_request`);
    expect(headers.authorization).toMatch(scope);
    const token = given.AWS_SHARED_CREDENTIALS_FILE ? `token of ${key}` : undefined;
    expect(headers["x-amz-security-token"]).toBe(token);
  });

  test("goes to an endpoint named only by AWS's variables", async () => {
    await destination({ endpoint: null, aws: { ...credentials, AWS_ENDPOINT_URL: s3.endpoint } }).list();
    expect(s3.calls).toHaveLength(1);
  });
});

/** A fault for the first requests of this kind. */
const first = (times: number, fault: S3Fault, isMeant: (call: S3Call) => boolean) => {
  let left = times;
  return (call: S3Call) => (isMeant(call) && left-- > 0 ? fault : null);
};
const isPart = ({ method, query }: S3Call) => method === "PUT" && query.get("partNumber") === "2";
const isObject = ({ method, key }: S3Call) => method === "GET" && key !== "";

describe("transient faults are retried, and the backup is complete:", () => {
  test.each<[string, S3Fault, (call: S3Call) => boolean]>([
    ["503 SlowDown for a part", { status: 503, code: "SlowDown" }, isPart],
    ["500 for a part", { status: 500, code: "InternalError" }, isPart],
    ["429 for a part", { status: 429, code: "TooManyRequests" }, isPart],
    ["a connection that is cut off in a part", { cut: true }, isPart],
    ["503 at the beginning", { status: 503, code: "SlowDown" }, ({ query }) => query.has("uploads")],
    ["a download that is cut off", { cutAfterBytes: 50_000 }, isObject],
    ["a download that does not begin", { cut: true }, isObject],
  ])("%s", async (_, fault, isMeant) => {
    s3.fault = first(2, fault, isMeant);
    const { file, name, bytes } = backupOf(2 * partBytes + 5);
    const there = destination();
    await there.keep(file, name);
    expect((await read(there, name, 0, file.size)).equals(bytes)).toBe(true);
    expect(s3.uploads.size).toBe(0);
  });

  test("a lost answer to the last request of an upload", async () => {
    const isLast = ({ method, query }: S3Call) => method === "POST" && query.has("uploadId");
    s3.fault = first(1, { loseAnswer: true }, isLast);
    const { file, name } = backupOf(2 * partBytes);
    await destination().keep(file, name);
    expect(s3.objects.has(`onair/one/${name}`)).toBe(true);
  });
});

const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => "it passed",
    ({ message }: Error) => message,
  );

describe("permanent faults give a one-sentence error, and leave nothing of the backup:", () => {
  const all = () => true;
  const host = "S3 at 127\\.0\\.0\\.1:[0-9]+";
  test.each<[string, S3Fault, (call: S3Call) => boolean, RegExp]>([
    [
      "403",
      { status: 403, code: "AccessDenied" },
      ({ method }) => method === "PUT",
      /answered 403 AccessDenied: let these credentials list, read, write and delete in the bucket backups\.$/,
    ],
    [
      "a wrong key",
      { status: 403, code: "SignatureDoesNotMatch" },
      all,
      /answered 403 SignatureDoesNotMatch: the credentials are wrong; correct AWS_ACCESS_KEY_ID/,
    ],
    [
      "a clock that is off",
      { status: 403, code: "RequestTimeTooSkewed" },
      all,
      /more than 15 minutes off; set it/,
    ],
    [
      "another region",
      { status: 301, code: "PermanentRedirect" },
      all,
      /is not in .* us-east-1; set --backup-region\.$/,
    ],
    ["503 for ever", { status: 503, code: "SlowDown" }, isPart, /answered 503 SlowDown: it is overloaded/],
    ["a connection that is always cut off in a part", { cut: true }, isPart, /closed the connection/],
    ["content that is another one", { alter: true }, isPart, /The content read back from S3 differs/],
  ])("%s", async (_, fault, isMeant, sentence) => {
    s3.fault = (call) => (isMeant(call) ? fault : null);
    const { file, name } = backupOf(2 * partBytes + 5);
    const message = await messageOf(destination().keep(file, name));
    expect(message).toMatch(sentence);
    expect(message).toMatch(new RegExp(`^(${host}|The content read back)`));
    expect(message).not.toContain("secret");
    expect([...s3.objects.keys()]).toEqual([]);
    expect(s3.uploads.size).toBe(0);
  });

  test("a request without an answer times out", async () => {
    s3.fault = (call) => (isPart(call) ? { hang: true } : null);
    const { file, name } = backupOf(2 * partBytes + 5);
    const waits = { ...patience, attempts: 2, partTimeoutMs: 50 };
    const message = await messageOf(destination({ waits }).keep(file, name));
    expect(message).toMatch(/did not respond for 0\.05 s: check that it is running\.$/);
    expect(s3.uploads.size).toBe(0);
  });

  test("an unreachable server", async () => {
    const message = await messageOf(destination({ endpoint: "http://127.0.0.1:1" }).list());
    expect(message).toMatch(/^S3 at 127\.0\.0\.1:1 cannot be reached .*--backup-endpoint/);
  });

  test.each([
    [503, /answered 503 SlowDown/],
    [403, /answered 403 SlowDown/],
    [200, /sent more than 8388608 bytes\.$/],
  ])("of an endless answer with status %i only a part is read", async (status, sentence) => {
    s3.fault = () => ({ endless: status });
    const message = await messageOf(destination({ waits: { ...patience, attempts: 1 } }).list());
    expect(message).toMatch(sentence);
    // Apart from bytes in socket buffers.
    expect(s3.poured).toBeLessThan(status === 200 ? 24 << 20 : 8 << 20);
  });

  test("an endless list is an error", async () => {
    s3.pageSize = 1;
    for (let n = 0; n < 102; n++)
      s3.objects.set(`onair/one/${n}`, { bytes: Buffer.alloc(0), modified: new Date() });
    const message = await messageOf(destination().list());
    expect(message).toMatch(/^S3 lists more than 100 pages: set a prefix with --backup-to/);
    expect(s3.calls).toHaveLength(100);
  });

  const listed = (key: string) =>
    `<Contents><Key>${key}</Key><LastModified>2026-01-14T16:08:06.123Z</LastModified><Size>1</Size></Contents>`;
  const most = 7_000_000;
  const filled = (text: string) => text.repeat(Math.floor(most / text.length));

  test.each<[string, string]>([
    ["entries that do not end", filled("<Contents>")],
    ["keys that do not end", `<Contents>${filled("<Key>")}</Contents>`],
    ["an endless key", listed(filled("k"))],
    ["more entries than a page has", filled(listed("x"))],
    ["empty entries", filled("<Contents></Contents>")],
    ["an endless token", `<NextContinuationToken>${filled("t")}</NextContinuationToken>`],
    ["tokens that do not end", filled("<NextContinuationToken>")],
    ["entities", listed(filled("&amp;"))],
  ])("a list with %s is read in linear time, and refused", async (_, body) => {
    s3.fault = () => ({ xml: `<ListBucketResult>${body}</ListBucketResult>` });
    const there = destination();
    const slowest = await slowestTick(async () => {
      await expect(there.list()).rejects.toThrow(/^S3 sent /);
    });
    expect(slowest).toBeLessThan(1_500);
  });

  test.each(["uploads", "owner"])("an oversized answer about %s is not read", async (about) => {
    s3.fault = ({ key, query }) =>
      (about === "uploads" ? query.has("uploads") && key !== "" : key.endsWith("onair-data-id"))
        ? { endless: 200 }
        : null;
    const there = destination();
    const { file, name } = backupOf(3 * partBytes);
    const asked = about === "uploads" ? there.keep(file, name) : there.owner();
    await expect(asked).rejects.toThrow("sent more than");
    expect(s3.poured).toBeLessThan(8 << 20);
  });

  test("a download with more bytes than were asked for ends with those", async () => {
    const { file, name, bytes } = backupOf(1_000);
    const there = destination();
    await there.keep(file, name);
    s3.fault = ({ key }) => (key.endsWith(name) ? { endless: 206 } : null);
    expect((await read(there, name, 0, bytes.length)).length).toBe(bytes.length);
    expect(s3.poured).toBeLessThan(16 << 20);
  });

  test("a missing bucket", async () => {
    const message = await messageOf(destination({ to: "s3://others/onair" }).list());
    expect(message).toMatch(/NoSuchBucket: create the bucket others, or set another with --backup-to\.$/);
  });

  test("missing credentials", async () => {
    const aws = { AWS_SHARED_CREDENTIALS_FILE: join(directory, "none") };
    const message = await messageOf(destination({ aws }).list());
    expect(message).toMatch(/^No credentials for S3: set AWS_ACCESS_KEY_ID .* \[default\]\.$/);
    expect(s3.calls).toEqual([]);
  });

  test.each([{ AWS_ACCESS_KEY_ID: "…" }, { AWS_ACCESS_KEY_ID: "id\n" }, { AWS_SESSION_TOKEN: "two\nlines" }])(
    "credentials that a header cannot have: %p",
    async (wrong) => {
      const aws = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret", ...wrong };
      const message = await messageOf(destination({ aws }).list());
      expect(message).toMatch(
        /^The credentials for S3 .* have invalid characters: check that they were copied/,
      );
      expect(s3.calls).toEqual([]);
    },
  );
});

test("a backup of the next day removes the parts that a killed server left, and no others", async () => {
  const { name } = backupOf(10);
  const begun = (id: string, key: string, ago: number) =>
    s3.uploads.set(id, { key, parts: new Map(), initiated: new Date(Date.now() - ago) });
  begun("left", `onair/one/${name}`, day + minute);
  begun("foreign", "onair/one/film.mp4", day + minute);
  begun("elsewhere", `onair/two/${name}`, day + minute);
  begun("of an hour ago", `onair/one/${name}`, hour);
  const kept = ["foreign", "elsewhere", "of an hour ago"];
  const next = backupOf(20);
  await destination().keep(next.file, next.name);
  expect([...s3.uploads.keys()]).toEqual(kept);
});

test("a backup of a copy does not abort the first server's upload at the same prefix", async () => {
  const first = backupOf(3 * partBytes);
  const copy = { ...backupOf(20), isKept: false };
  s3.fault = ({ query }) => {
    if (query.get("partNumber") === "3" && !copy.isKept) {
      copy.isKept = true;
      return { status: 503, code: "SlowDown" };
    }
    return null;
  };
  const sending = destination({ waits: { ...patience, pauseMs: 100 } }).keep(first.file, first.name);
  await until(() => copy.isKept);
  await destination().keep(copy.file, copy.name);
  await sending;
  expect([...s3.objects.keys()].sort()).toEqual([`onair/one/${first.name}`, `onair/one/${copy.name}`].sort());
  const begun = s3.calls.filter(({ method, query }) => method === "POST" && query.has("uploads"));
  expect(begun).toHaveLength(1);
});

test.each([
  ["s3://backups", "backups", ""],
  ["s3://backups/", "backups", ""],
  ["s3://my.bucket/a//b/", "my.bucket", "a/b/"],
])("%s is the bucket %s with the prefix %s", (text, bucket, prefix) => {
  expect(readDestination(text)).toMatchObject({ kind: "s3", bucket, prefix });
});

test.each(["s3://", "s3://B", "s3://bucket/with space", "s3://b/?x", "https://bucket", "", " "])(
  "%j is no place",
  (text) => {
    expect(() => readDestination(text)).toThrow(TypeError);
  },
);
