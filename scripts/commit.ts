import { realpathSync } from "node:fs";

/** The number of digits of the hash. Fixed, because git's abbreviation depends on the size of the clone. */
const digits = 12;

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
