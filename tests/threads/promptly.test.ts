import { expect, test } from "bun:test";
import { getPriority, release } from "node:os";
import { join } from "node:path";

const module = join(import.meta.dir, "../../src/threads/promptly.ts");

/** What a process that runs promptly prints at the end. */
function whatIsLeft(command: readonly string[]): string {
  const program = `
    import { getPriority } from "node:os";
    import { runPromptly } from ${JSON.stringify(module)};
    runPromptly();
    console.log(getPriority());`;
  const { stdout, exitCode } = Bun.spawnSync([...command, process.execPath, "-e", program]);
  expect(exitCode).toBe(0);
  return stdout.toString().trim();
}

test("running promptly leaves the niceness of a process as it was", () => {
  expect(whatIsLeft([])).toBe(String(getPriority()));
  expect(whatIsLeft(["nice", "-n", "3"])).toBe(String(Math.min(19, getPriority() + 3)));
});

/** Since Linux 6.12 a thread may ask for slices of its own, and since then the kernel tells them. */
const [major = 0, minor = 0] = release().split(".").map(Number);
const hasSlices = process.platform === "linux" && (major > 6 || (major === 6 && minor >= 12));

test.skipIf(!hasSlices).each(["runPromptly", "runBehind"])("%s shortens the slices", (how) => {
  const program = `
    import { ${how} } from ${JSON.stringify(module)};
    const slice = async () => Number(/^se\\.slice\\s*:\\s*(\\d+)/m.exec(await Bun.file("/proc/self/sched").text())?.[1]);
    const before = await slice();
    ${how}();
    console.log(before > 100_000, await slice());`;
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, "-e", program]);
  expect(exitCode).toBe(0);
  expect(stdout.toString().trim()).toBe("true 100000");
});
