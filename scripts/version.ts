import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Build } from "../src/runtime/build.ts";

/** The number of digits of the hash. Fixed, because git's abbreviation depends on the size of the clone. */
const digits = 12;

/**
 * Returns the version and the commit of a checkout.
 *
 * - At a tag like `v1.0.0`: `1.0.0`.
 * - After it: `1.0.0+12.g44cb90d`, the number of commits since the tag and the commit.
 * - Without such a tag in its history, as in a shallow clone: the version in `package.json` and the time of the commit,
 *   `1.0.0+20260114160806.g44cb90d`.
 * - Without a commit, as in an unpacked archive: the version in `package.json`.
 *
 * `.changed` follows the commit of a checkout with changes. A later build of one branch has a higher version for Debian.
 */
export function buildOf(checkout: string): Build {
  const { version: fromPackage } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const commit = commitOf(checkout);
  if (commit === null) return { version: fromPackage, commit };
  const described = git(checkout, "describe", "--tags", "--long", "--match", "v[0-9]*.[0-9]*.[0-9]*", "HEAD");
  const [, tag, count] = /^v(\d+\.\d+\.\d+(?:-[\da-zA-Z.-]+)?)-(\d+)-g[\da-f]+$/.exec(described ?? "") ?? [];
  const isChanged = commit.endsWith("-changed");
  if (tag !== undefined && count === "0" && !isChanged) return { version: tag, commit };
  const since = count ?? timeOf(checkout);
  const version = `${tag ?? fromPackage}+${since}.g${commit.slice(0, 7)}${isChanged ? ".changed" : ""}`;
  return { version, commit };
}

/** The time of the commit, in digits. */
function timeOf(checkout: string): string {
  const time = new Date(Number(git(checkout, "log", "-1", "--format=%ct")) * 1000);
  return time.toISOString().replace(/\D/g, "").slice(0, 14);
}

/**
 * Returns the commit of a checkout, like `0123456789ab`, or `0123456789ab-changed` with changed or untracked files.
 * Null without git, and for a directory that is not the root of a repository, such as an unpacked archive.
 */
export function commitOf(checkout: string): string | null {
  const top = git(checkout, "rev-parse", "--show-toplevel");
  if (top === null || realpathSync(top) !== realpathSync(checkout)) return null;
  const hash = git(checkout, "rev-parse", "--verify", "HEAD");
  const changes = git(checkout, "status", "--porcelain", "--untracked-files=normal");
  if (hash === null || changes === null) return null;
  return `${hash.slice(0, digits)}${changes === "" ? "" : "-changed"}`;
}

/** Returns the output of git; null when it is not installed or fails. */
function git(checkout: string, ...args: readonly string[]): string | null {
  if (!Bun.which("git")) return null;
  const { success, stdout } = Bun.spawnSync(["git", "--no-optional-locks", ...args], { cwd: checkout });
  return success ? stdout.toString().trim() : null;
}
