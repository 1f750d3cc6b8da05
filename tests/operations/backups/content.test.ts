import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { backupFiles, backupsPath, madeBackup } from "../../support/backups.ts";
import { users } from "../../support/real-data.ts";
import { adminKey, json, testDirectory, testServer } from "../../support/server.ts";

// `GET /admin/v1/backups/{id}/content`.

const data = testDirectory();
const server = await testServer({ isOnSqlite: true, data, users });
const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(server.adminUrl + path, { method, headers: { authorization: `Bearer ${adminKey}`, ...headers } });
const backup = await madeBackup(server);
const bytes = readFileSync(join(data, "backups", backupFiles(data)[0] ?? ""));
const path = `${backupsPath}/${backup.id}/content`;

test("the content of a backup is downloaded with its hash", async () => {
  const answer = await get(path);
  expect([answer.status, Object.fromEntries(answer.headers)]).toEqual([
    200,
    {
      "content-type": "application/vnd.sqlite3",
      "content-disposition": `attachment; filename="onair-${backup.id}.db"`,
      etag: `"${backup.sha256}"`,
      "repr-digest": `sha-256=:${Buffer.from(backup.sha256 ?? "", "hex").toString("base64")}:`,
      "accept-ranges": "bytes",
      "cache-control": "no-store",
      "transfer-encoding": "chunked",
      "x-request-id": expect.any(String),
      date: expect.any(String),
    },
  ]);
  expect(Buffer.compare(Buffer.from(await answer.bytes()), bytes)).toBe(0);
});

test("HEAD gives its length and sends nothing", async () => {
  const answer = await get(path, {}, "HEAD");
  expect([answer.status, await answer.text()]).toEqual([200, ""]);
  expect(answer.headers.get("content-length")).toBe(String(backup.size_bytes));
  expect(answer.headers.get("etag")).toBe(`"${backup.sha256}"`);
});

// `size` stands for the size of the file.
test.each<[string, Record<string, string>, number, [number, string] | null]>([
  ["the first bytes", { range: "bytes=0-15" }, 206, [0, "15"]],
  ["some in between", { range: "bytes=100-4999" }, 206, [100, "4999"]],
  ["one byte", { range: "bytes=7-7" }, 206, [7, "7"]],
  ["the rest", { range: "bytes=4096-" }, 206, [4096, "size-1"]],
  ["the last bytes", { range: "bytes=-10" }, 206, [-10, "size-1"]],
  ["more than there is", { range: "bytes=4096-999999999999" }, 206, [4096, "size-1"]],
  ["more of the end than there is", { range: "bytes=-999999999999" }, 206, [0, "size-1"]],
  ["a range of the same file", { range: "bytes=0-15", "if-range": "etag" }, 206, [0, "15"]],
  ["a range of another file", { range: "bytes=0-15", "if-range": '"another"' }, 200, null],
  ["a range by date", { range: "bytes=0-15", "if-range": "Wed, 14 Jan 2026 16:00:00 GMT" }, 200, null],
  ["several ranges, which may be ignored", { range: "bytes=0-1,4-5" }, 200, null],
  ["another unit", { range: "lines=0-1" }, 200, null],
  ["no range at all", { range: "bytes=" }, 200, null],
  ["no number", { range: "bytes=a-b" }, 200, null],
  ["a range backwards", { range: "bytes=5-4" }, 200, null],
  ["beyond the end", { range: "bytes=size-" }, 416, null],
  ["far beyond the end", { range: "bytes=99999999999999999999-" }, 416, null],
  ["the last none", { range: "bytes=-0" }, 416, null],
])("a range: %s", async (_, asked, status, expected) => {
  const size = bytes.length;
  const headers = Object.fromEntries(
    Object.entries(asked).map(([name, value]) => [
      name,
      value.replace("size", String(size)).replace(/^etag$/, `"${backup.sha256}"`),
    ]),
  );
  const answer = await get(path, headers);
  expect(answer.status).toBe(status);
  if (status === 416) {
    expect(answer.headers.get("content-range")).toBe(`bytes */${size}`);
    expect(await json<object>(answer)).toMatchObject({ code: "range_not_satisfiable", errors: [] });
    return;
  }
  const from = expected ? (expected[0] + size) % size : 0;
  const to = expected ? Number(expected[1].replace("size-1", String(size - 1))) : size - 1;
  expect(answer.headers.get("content-range")).toBe(expected ? `bytes ${from}-${to}/${size}` : null);
  const got = Buffer.from(await answer.bytes());
  expect([got.length, Buffer.compare(got, bytes.subarray(from, to + 1))]).toEqual([to - from + 1, 0]);
});

test("an id reaches that backup and no other file", async () => {
  const database = readFileSync(join(data, "onair.pid"), "utf8");
  const name = backupFiles(data)[0] ?? "";
  for (const id of [
    "x",
    name,
    `${backup.id}.`,
    backup.id.toLowerCase(),
    "..%2Fonair.pid",
    "%2E%2E%2Fonair.pid",
    "..%5Conair.pid",
    "%2Fetc%2Fpasswd",
    `..%2Fbackups%2F${name}`,
    `${backup.id}%00`,
    "%",
    "x".repeat(10_000),
  ]) {
    for (const [method, rest] of [
      ["GET", ""],
      ["GET", "/content"],
      ["DELETE", ""],
    ] as const) {
      const answer = await get(`${backupsPath}/${id}${rest}`, {}, method);
      expect([id, [400, 404].includes(answer.status)]).toEqual([id, true]);
      expect(await answer.text()).not.toContain(database);
    }
  }
  expect(backupFiles(data)).toEqual([name]);
});
