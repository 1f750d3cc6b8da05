import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { debianVersion } from "../../scripts/release/debian.ts";
import { npmVersion } from "../../scripts/release/npm.ts";
import { buildOf, commitOf } from "../../scripts/version.ts";
import { ownDirectory, testDirectory } from "../support/server.ts";

const directory = testDirectory();
const checkout = join(directory, "checkout");

/** A checkout with one commit, whose time and author are always the same. */
beforeEach(() => {
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(checkout);
  writeFileSync(join(checkout, ".gitignore"), "dist\n");
  writeFileSync(join(checkout, "package.json"), '{"version": "0.1.0"}');
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
  const link = join(ownDirectory(), "link");
  symlinkSync(checkout, link);
  expect(commitOf(link)).toBe(commitOf(checkout));
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

describe("the version of a build", () => {
  const hash = () => git("rev-parse", "HEAD").slice(0, 7);
  const more = () => git("commit", "--quiet", "--allow-empty", "--message", "more");
  const version = (of = checkout) => buildOf(of).version;

  test("is that of the tag, and after it has the number of commits since", () => {
    git("tag", "v0.2.0");
    git("tag", "nightly");
    expect(buildOf(checkout)).toEqual({ version: "0.2.0", commit: git("rev-parse", "HEAD").slice(0, 12) });
    for (let count = 0; count < 12; count++) more();
    git("tag", "vision"); // not a version
    expect(version()).toBe(`0.2.0+12.g${hash()}`);
    writeFileSync(join(checkout, "new.ts"), "");
    expect(version()).toBe(`0.2.0+12.g${hash()}.changed`);
    rmSync(join(checkout, "new.ts"));
    git("tag", "--annotate", "v0.3.0-rc.1", "--message", "candidate");
    expect(version()).toBe("0.3.0-rc.1");
    writeFileSync(join(checkout, "new.ts"), "");
    expect(version()).toBe(`0.3.0-rc.1+0.g${hash()}.changed`);
  });

  test("without a tag has the time of the commit, also in a shallow clone", () => {
    expect(version()).toBe(`0.1.0+20260114160806.g${hash()}`);
    git("tag", "v0.2.0");
    more();
    const shallow = join(directory, "shallow");
    git("clone", "--quiet", "--depth", "1", "--no-tags", `file://${checkout}`, shallow);
    expect(version(shallow)).toBe(`0.1.0+20260114160806.g${hash()}`);
  });

  test("without git is that of package.json", () => {
    rmSync(join(checkout, ".git"), { recursive: true });
    expect(buildOf(checkout)).toEqual({ version: "0.1.0", commit: null });
  });

  test("is higher in npm and Debian, the later the build", () => {
    const versions = [
      "0.2.0-rc.1",
      "0.2.0-rc.1+3.gfffffff",
      "0.2.0",
      "0.2.0+0.gfffffff.changed",
      "0.2.0+9.gfffffff",
      "0.2.0+12.g0000000",
      "0.2.0+12.g0000000.changed",
      "0.2.0+20260114160806.gfffffff",
      "0.2.0+20260114160807.g0000000",
      "0.2.1",
      "0.2.10+1.g0000000",
    ];
    for (const [at, later] of versions.entries()) {
      const earlier = versions[at - 1];
      if (earlier === undefined) continue;
      expect([earlier, Bun.semver.order(npmVersion(later), npmVersion(earlier))]).toEqual([earlier, 1]);
      if (Bun.which("dpkg") === null) continue;
      const compare = ["dpkg", "--compare-versions", debianVersion(later), "gt", debianVersion(earlier)];
      expect([earlier, Bun.spawnSync(compare).exitCode]).toEqual([earlier, 0]);
    }
  });
});
