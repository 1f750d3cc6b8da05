import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { program } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { ndjson } from "../support/rows.ts";
import { ownDirectory } from "../support/server.ts";
import { canMount } from "../support/small-disk.ts";

/**
 * Runs commands one after the other in a mount namespace where only this directory can be written to: not even the
 * directories for temporary files, as in a container with a read-only root.
 */
async function runReadOnly(writable: string, commands: readonly (readonly string[])[]) {
  const quoted = (word: string) => `'${word}'`;
  const script = `set -e
    for place in /tmp /var/tmp /dev/shm; do
      mount --bind $place $place; mount -o remount,bind,ro $place
    done
    mount --bind ${writable} ${writable}; mount -o remount,bind,rw ${writable}
    cd /proc
    ! touch /tmp/onair-test-probe 2>/dev/null
    ${commands.map((words) => [...program, ...words].map(quoted).join(" ")).join("\n")}`;
  const child = Bun.spawn(["unshare", "-m", "bash", "-c", script], {
    env: { PATH: process.env["PATH"], ONAIR_LOG_LEVEL: "error" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

test.skipIf(!canMount)(
  "a writable data directory is enough for a first start, an import, a backup and its restore",
  async () => {
    const directory = ownDirectory();
    const [data, restored, rows] = ["data", "restored", "users.ndjson"].map((name) =>
      join(directory, name),
    ) as [string, string, string];
    mkdirSync(join(directory, "kept"));
    await Bun.write(rows, ndjson(users));
    const on = ["--data", data];
    const { code, stderr, stdout } = await runReadOnly(directory, [
      ["import", "users", rows, ...on],
      ["migrate", "--rebuild-search", ...on],
      ["migrate", "--backup", join(directory, "kept/one.db"), ...on],
      ["restore", join(directory, "kept/one.db"), "--data", restored],
      ["doctor", "--full", "--data", restored, "--port", "0", "--admin-port", "0"],
    ]);
    expect([code, stderr.includes("SQLITE")]).toEqual([0, false]);
    expect(stdout).toContain(`${users.length} accepted, 0 rejected`);
  },
  60_000,
);
