import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commitOf } from "../../scripts/commit.ts";
import { testDirectory } from "../support/server.ts";

const directory = testDirectory();
const checkout = join(directory, "checkout");

/** A checkout with one commit, whose time and author are always the same. */
beforeEach(() => {
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(checkout);
  writeFileSync(join(checkout, ".gitignore"), "dist\n");
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message", "first");
});

function git(...args: string[]): string {
  const time = "2026-01-14T16:08:06Z";
  const env = { ...process.env, GIT_AUTHOR_DATE: time, GIT_COMMITTER_DATE: time };
  const named = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
  const { success, stdout, stderr } = Bun.spawnSync(["git", ...named, ...args], { cwd: checkout, env });
  if (!success) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

test("is twelve digits of the hash, whatever git ignores", () => {
  mkdirSync(join(checkout, "dist"));
  writeFileSync(join(checkout, "dist/onair"), "");
  expect(commitOf(checkout)).toBe(git("rev-parse", "HEAD").slice(0, 12));
  symlinkSync(checkout, join(directory, "link"));
  expect(commitOf(join(directory, "link"))).toBe(commitOf(checkout));
});

test.each([".gitignore", "new.ts"])("says where %s is not as in the commit", (file) => {
  writeFileSync(join(checkout, file), "changed");
  expect(commitOf(checkout)).toBe(`${git("rev-parse", "HEAD").slice(0, 12)}-changed`);
});

test("an archive has none, also inside a checkout of something else, nor has a repository without a commit", () => {
  const archive = join(checkout, "archive");
  mkdirSync(archive);
  expect(commitOf(archive)).toBeNull();
  expect(commitOf(directory)).toBeNull();
  rmSync(join(checkout, ".git"), { recursive: true });
  git("init", "--quiet");
  expect(commitOf(checkout)).toBeNull();
});
