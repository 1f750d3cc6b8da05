import { realpathSync } from "node:fs";

/** So many digits of the hash: git's own shortening depends on how much a clone has. */
const digits = 12;

/**
 * The commit of a checkout, as `0123456789ab`; `0123456789ab-changed` where files differ from it or are not in it. Null
 * without git, and for files of no repository of their own, such as those of an unpacked archive.
 */
export function commitOf(checkout: string): string | null {
  const top = git(checkout, "rev-parse", "--show-toplevel");
  if (top === null || realpathSync(top) !== realpathSync(checkout)) return null;
  const hash = git(checkout, "rev-parse", "--verify", "HEAD");
  const changes = git(checkout, "status", "--porcelain", "--untracked-files=normal");
  if (hash === null || changes === null) return null;
  return `${hash.slice(0, digits)}${changes === "" ? "" : "-changed"}`;
}

/** What git prints; null where it is not installed or refuses. */
function git(checkout: string, ...args: readonly string[]): string | null {
  if (!Bun.which("git")) return null;
  const { success, stdout } = Bun.spawnSync(["git", "--no-optional-locks", ...args], { cwd: checkout });
  return success ? stdout.toString().trim() : null;
}
