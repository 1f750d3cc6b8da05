import { expect, test } from "bun:test";
import { join } from "node:path";
import { ar, type Entry, tar, tarGz } from "../../scripts/release/archive.ts";
import { testDirectory } from "../support/server.ts";

const directory = testDirectory();
const time = Date.UTC(2026, 0, 14, 16, 8, 6) / 1000;
const long = `${"directory/".repeat(12)}${"f".repeat(60)}`;
const entries: readonly Entry[] = [
  { path: "b/run", content: "#!/bin/sh\necho ran\n", mode: 0o755 },
  { path: long, content: "deep" },
  { path: "a.txt", content: "ä".repeat(600) },
  { path: "empty", content: "" },
];

test("the system's tar reads what was written: contents, modes, times, and long paths", async () => {
  const file = join(directory, "archive.tar.gz");
  await Bun.write(file, tarGz(entries, time));
  const listed = await Bun.$`TZ=UTC tar --list --verbose --full-time --file ${file}`.text();
  expect(listed).toMatch(/^-rwxr-xr-x root\/root +19 2026-01-14 16:08:06 b\/run$/m);
  expect(listed).toMatch(/^-rw-r--r-- root\/root +1200 2026-01-14 16:08:06 a\.txt$/m);
  expect(listed).toMatch(/^drwxr-xr-x root\/root +0 2026-01-14 16:08:06 b\/$/m);
  expect(await Bun.$`cd ${directory} && tar --extract --file ${file} && ./b/run`.text()).toBe("ran\n");
  for (const { path, content } of entries) {
    expect(await Bun.file(join(directory, path)).text()).toBe(content as string);
  }
});

test("the order in which files are given changes nothing", () => {
  expect(tar(entries.toReversed(), time)).toEqual(tar(entries, time));
});

test("a path that has no place in the format is refused", () => {
  expect(() => tar([{ path: "f".repeat(101), content: "" }], time)).toThrow("is too long for a tar archive");
  expect(() => tar([{ path: `${"d".repeat(156)}/f${"f".repeat(90)}`, content: "" }], time)).toThrow(
    "is too long for a tar archive",
  );
});

test("members of an ar archive begin at even offsets", () => {
  const text = new TextDecoder().decode(
    ar(
      [
        { path: "odd", content: "123" },
        { path: "even", content: "1234" },
      ],
      time,
    ),
  );
  expect(text).toBe(
    "!<arch>\n" +
      "odd             1768406886  0     0     100644  3         `\n123\n" +
      "even            1768406886  0     0     100644  4         `\n1234",
  );
});
