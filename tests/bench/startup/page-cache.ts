import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BenchError } from "../support/processes.ts";

/** Every file at or below these paths. */
function filesOf(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path];
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  });
}

/**
 * Has the kernel forget what it holds of these files and directories, so that the next reader waits for the disk.
 * Returns the part that is held all the same, for example because somebody runs it; null where that is not known.
 */
export function forgetPages(paths: readonly string[]): number | null {
  const files = filesOf(paths);
  run(["sync", ...files]); // what is not written yet cannot be forgotten
  // An empty copy, whose only effect is the advice to the kernel.
  for (const file of files) run(["dd", `if=${file}`, "iflag=nocache", "count=0", "status=none"]);
  if (!Bun.which("fincore")) return null;
  const held = run(["fincore", "--bytes", "--noheadings", "--output", "RES", ...files])
    .trim()
    .split("\n")
    .reduce((sum, bytes) => sum + Number(bytes), 0);
  return held / files.reduce((sum, file) => sum + statSync(file).size, 0);
}

function run(command: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(command, { stderr: "pipe" });
  if (!success) throw new BenchError(`${command[0]} failed: ${stderr}`);
  return stdout.toString();
}
