import { expect, test } from "bun:test";
import { join } from "node:path";

const program = join(import.meta.dir, "../../src/cli/signals.ts");

/**
 * The exit code of a process that receives a signal twice, this many milliseconds apart by its clock; 7 if it
 * continues.
 */
function exitCodeAfter(signal: "SIGINT" | "SIGTERM", apartMs: number): number | null {
  const source = `
    const { onTermination } = await import(${JSON.stringify(program)});
    let time = 0;
    const terminated = onTermination(undefined, () => time);
    process.emit("${signal}");
    if (await terminated !== "${signal}") process.exit(8);
    time = ${apartMs};
    process.emit("${signal}");
    process.exit(7);
  `;
  return Bun.spawnSync([process.execPath, "-e", source]).exitCode;
}

test("a second signal ends a command at once, unless it is the same Ctrl-C, repeated by bun run or npx", () => {
  expect(exitCodeAfter("SIGINT", 20)).toBe(7);
  expect(exitCodeAfter("SIGINT", 1_000)).toBe(1);
  expect(exitCodeAfter("SIGTERM", 20)).toBe(1);
});
