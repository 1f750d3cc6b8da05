import { expect, test } from "bun:test";
import { join } from "node:path";

const program = join(import.meta.dir, "../../src/cli/signals.ts");

/** The exit code of a process that gets a signal twice, so many milliseconds apart by its clock; 7 where it goes on. */
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

test("a second signal ends a command at once, but for the same Ctrl-C, which bun run and npx pass on, too", () => {
  expect(exitCodeAfter("SIGINT", 20)).toBe(7);
  expect(exitCodeAfter("SIGINT", 1_000)).toBe(1);
  expect(exitCodeAfter("SIGTERM", 20)).toBe(1);
});
