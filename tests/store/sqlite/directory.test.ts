import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyToDirectory } from "../../../src/store/sqlite/copy.ts";
import { lockDirectory } from "../../../src/store/sqlite/directory.ts";
import { ownDirectory } from "../../support/server.ts";

test("a lock that is undone removes the directories and files that it created, and no other", () => {
  const parent = ownDirectory();
  lockDirectory(join(parent, "a", "b")).undo();
  expect(readdirSync(parent)).toEqual([]);
  writeFileSync(join(parent, "mine"), "");
  lockDirectory(parent).undo();
  expect(readdirSync(parent)).toEqual(["mine"]);
  lockDirectory(parent).close();
  lockDirectory(parent).undo();
  expect(readdirSync(parent).sort()).toEqual(["mine", "onair.lock", "onair.pid"]);
});

test("a copy that fails leaves no directory", async () => {
  const directory = join(ownDirectory(), "target");
  const failing = copyToDirectory(directory, async () => {
    throw new Error("the source is away");
  });
  await expect(failing).rejects.toThrow("the source is away");
  expect(existsSync(directory)).toBe(false);
});
