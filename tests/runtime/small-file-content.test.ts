import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readForward } from "../../src/cli/arguments.ts";
import { smallFile } from "../../src/runtime/files.ts";
import { readSecret } from "../../src/server/settings/read-config.ts";
import { testDirectory } from "../support/server.ts";

const path = join(testDirectory(), "file");
const secret = () => readSecret({ ONAIR_ADMIN_KEY_FILE: path }, "ONAIR_ADMIN_KEY");

test("a byte order mark is no part of a file, such as a key or a certificate", () => {
  writeFileSync(path, "\ufeff0123456789abcdef\r\n");
  expect(smallFile(path, 100)).toBe("0123456789abcdef\r\n");
  expect(secret()).toBe("0123456789abcdef");
});

test("typographic quotes around a secret are named", () => {
  writeFileSync(path, "“0123456789abcdef”\n");
  expect(secret).toThrow("has typographic quotes");
});

test.each([
  ["localhost:3000", "http://localhost:3000"],
  ["127.0.0.1:3000/hook", "http://127.0.0.1:3000/hook"],
  ["https://localhost:3000/hook", "https://localhost:3000/hook"],
])("--forward %s is %s", (given, url) => {
  const mistakes: string[] = [];
  expect([readForward(given, mistakes), mistakes]).toEqual([url, []]);
});

test.each(["ftp://localhost", "local host", ""])("--forward %j is no address", (given) => {
  const mistakes: string[] = [];
  readForward(given, mistakes);
  expect(mistakes).toHaveLength(1);
});
